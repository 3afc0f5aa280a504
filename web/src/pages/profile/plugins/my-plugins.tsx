import { useState } from 'react'
import { agreeToPlugin, deletePluginData, type MyPlugin, type OfferedPlugin, startSignIn, stopPlugin, whenBack } from '#api/plugins.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { pluginTexts } from '#texts/plugins.ts'
import { AgreeDialog } from './agree-dialog.tsx'
import { ConfigDialog } from './config-dialog.tsx'
import { configMembers } from './config-members.ts'
import { ConnectDialog } from './connect-dialog.tsx'
import { ConsentList } from './consent-list.tsx'
import style from './plugins.module.css'

type Asked = 'agree' | 'config' | 'connect' | 'delete' | null

/** Plugins that work for the user, then those that could. */
export function MyPlugins({ enabled, available }: { enabled: readonly MyPlugin[]; available: readonly OfferedPlugin[] }) {
  return (
    <ul className={style['plugins']}>
      {enabled.map((plugin) => (
        <Known key={plugin.pluginId} plugin={plugin} />
      ))}
      {available.map((plugin) => (
        <Offered key={plugin.pluginId} plugin={plugin} />
      ))}
    </ul>
  )
}

function Offered({ plugin: { pluginId, displayName: name, description, consent } }: { plugin: OfferedPlugin }) {
  const mayWrite = useMayDo('progress-write')
  const [asked, setAsked] = useState<Asked>(null)
  return (
    <li className={style['plugin']}>
      <About name={name} description={description} state={pluginTexts.notAgreed()} kind="" />
      {mayWrite && (
        <div className="line">
          <button type="button" className="btn" aria-label={pluginTexts.agreeTo({ name })} onClick={() => setAsked('agree')}>
            {pluginTexts.agree()}…
          </button>
        </div>
      )}
      <Asks lines={consent.lines} />
      {asked && <AgreeDialog {...{ pluginId, name, consent }} differenceLines={[]} onClose={() => setAsked(null)} />}
    </li>
  )
}

function Known({ plugin }: { plugin: MyPlugin }) {
  const { pluginId, pluginDisplayName: name, description, consent, agreed, pause } = plugin
  const mayWrite = useMayDo('progress-write')
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  const { state, kind } = stateOf(plugin)
  const stop = () => stopPlugin(pluginId).then(() => say(pluginTexts.stoppedNow({ name })), sayFailure)
  const restart = () => agreeToPlugin(pluginId, consent.sha256).then(() => say(pluginTexts.agreed({ name })), sayFailure)
  const mustAgree = pause === 'changed' || pause === 'data' || (pause === 'disabled' && agreed.differenceLines.length > 0)
  return (
    <li className={style['plugin']}>
      <About name={name} description={description} state={state} kind={kind} />
      {mayWrite && (
        <div className="line">
          {mustAgree && (
            <button type="button" className="btn" onClick={() => setAsked('agree')}>
              {pluginTexts.agreeAgain()}
            </button>
          )}
          {pause === 'disabled' && !mustAgree && (
            <button type="button" className="btn" onClick={() => void restart()}>
              {pluginTexts.start()}
            </button>
          )}
          <Connect plugin={plugin} onAsk={() => setAsked('connect')} />
          {plugin.enabled && configMembers(plugin.userConfigSchema).length > 0 && (
            <button type="button" className="btn" onClick={() => setAsked('config')}>
              {pluginTexts.config()}
            </button>
          )}
          {plugin.enabled && (
            <button type="button" className="btn" onClick={() => void stop()}>
              {pluginTexts.stop()}
            </button>
          )}
          <button type="button" className="btn plain" onClick={() => setAsked('delete')}>
            {pluginTexts.delete()}
          </button>
        </div>
      )}
      <Asks lines={consent.lines} />
      {asked === 'agree' && <AgreeDialog {...{ pluginId, name, consent }} differenceLines={agreed.differenceLines} onClose={close} />}
      {asked === 'config' && <ConfigDialog plugin={plugin} onClose={close} />}
      {asked === 'connect' && <ConnectDialog plugin={plugin} onClose={close} />}
      {asked === 'delete' && <DeleteData pluginId={pluginId} name={name} onClose={close} />}
    </li>
  )
}

function stateOf({ pause, connected, healthStatus, externalUsername, credentialType }: MyPlugin): {
  state: string
  kind: '' | 'good' | 'warn'
} {
  if (pause !== null)
    return { state: pause === 'disabled' ? pluginTexts.off() : pluginTexts[pause](), kind: pause === 'disabled' ? '' : 'warn' }
  if (!connected) return { state: pluginTexts.notConnected(), kind: 'warn' }
  if (healthStatus === 'unhealthy') return { state: pluginTexts.refused(), kind: 'warn' }
  if (externalUsername) return { state: pluginTexts.connectedAs({ name: externalUsername }), kind: 'good' }
  return { state: credentialType ? pluginTexts.connected() : pluginTexts.on(), kind: 'good' }
}

interface AboutProps {
  name: string
  /** Words of the author, which may change without a new agreement. */
  description: string | null
  state: string
  kind: '' | 'good' | 'warn'
}

function About({ name, description, state, kind }: AboutProps) {
  return (
    <div>
      <h3 className={style['name']}>
        <bdi>{name}</bdi> <span className={`badge ${kind}`}>{state}</span>
      </h3>
      {description && (
        <p className={style['by-author']} dir="auto">
          {pluginTexts.authorSays({ words: description })}
        </p>
      )}
    </div>
  )
}

const Asks = ({ lines }: { lines: readonly string[] }) => (
  <details className={style['asks']}>
    <summary>{pluginTexts.asks()}</summary>
    <ConsentList lines={lines} />
  </details>
)

/** Signs in at the service of a plugin, in its own window, or asks for what it needs. */
function Connect({ plugin, onAsk }: { plugin: MyPlugin; onAsk: () => void }) {
  const { pluginId, credentialType, requiresOauth, oauthConfigured, connected, healthStatus, enabled } = plugin
  if (!enabled || (credentialType === null && !requiresOauth)) return null
  const isOauth = requiresOauth || credentialType === 'oauth2'
  if (isOauth && !oauthConfigured) return <span className="small quiet">{pluginTexts.noSignIn()}</span>
  const signIn = () => {
    // At once, because browsers open no window later; it closes itself at the end.
    const opened = window.open('', '_blank')
    whenBack()
    startSignIn(pluginId).then(
      (address) => {
        if (opened) opened.location.href = address
        else location.assign(address)
      },
      (error: unknown) => {
        opened?.close()
        sayFailure(error)
      },
    )
  }
  return (
    <button type="button" className="btn" onClick={isOauth ? signIn : onAsk}>
      {connected && healthStatus !== 'unhealthy' ? pluginTexts.connectAgain() : pluginTexts.connect()}
    </button>
  )
}

function DeleteData({ pluginId, name, onClose }: { pluginId: string; name: string; onClose: () => void }) {
  const remove = () => {
    onClose()
    deletePluginData(pluginId).then(() => say(pluginTexts.deleted({ name })), sayFailure)
  }
  return (
    <Dialog title={pluginTexts.deleteTitle({ name })} action={pluginTexts.delete()} isDangerous onAction={remove} onClose={onClose}>
      <p>{pluginTexts.deleteWords()}</p>
    </Dialog>
  )
}
