import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { apiKeysQuery, revokeApiKey } from '#api/profile.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { dayWords, timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Failure } from '#parts/states.tsx'
import { profileTexts } from '#texts/profile.ts'
import { MadeKey } from './made-key.tsx'
import { MakeKey } from './make-key.tsx'
import style from './profile.module.css'

type Asked = { kind: 'make' } | { kind: 'made'; name: string; key: string } | { kind: 'revoke'; id: string; name: string } | null

/** Keys of apps: made here, shown once, revoked here. */
export function ApiKeys() {
  const { data, error, refetch } = useQuery(apiKeysQuery)
  const mayMake = useMayDo('api-keys-write')
  const mayRevoke = useMayDo('api-keys-delete')
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  return (
    <>
      {/* Beside the rest: a dialog keeps what was typed, and a new key is shown only once. */}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {asked?.kind === 'made' && <MadeKey name={asked.name} value={asked.key} onClose={close} />}
      {data?.data.length === 0 && <p className="quiet">{profileTexts.noKeys()}</p>}
      <ul className={`rows ${style['rows']}`}>
        {data?.data.map(({ id, name, keyPrefix, lastUsedAt, expiresAt }) => (
          <li key={id} className="row">
            <Icon of={KeyRound} />
            <span className="words">
              <span className="clip">
                <bdi>{name}</bdi> <span className="mono faint">{keyPrefix}…</span>
              </span>
              <span className="sub">
                {lastUsedAt ? profileTexts.lastUsedKey({ when: timeWords(lastUsedAt) }) : profileTexts.neverUsed()}
                {expiresAt && ` · ${profileTexts.validUntil({ when: dayWords(expiresAt) })}`}
              </span>
            </span>
            {mayRevoke && (
              <button
                type="button"
                className="btn plain"
                aria-label={profileTexts.revokeTitle({ name })}
                onClick={() => setAsked({ kind: 'revoke', id, name })}
              >
                {profileTexts.revoke()}
              </button>
            )}
          </li>
        ))}
      </ul>
      {mayMake && (
        <div className="line">
          <button type="button" className="btn" onClick={() => setAsked({ kind: 'make' })}>
            <Icon of={Plus} />
            {profileTexts.makeKey()}
          </button>
        </div>
      )}
      {asked?.kind === 'make' && <MakeKey onMade={(name, key) => setAsked({ kind: 'made', name, key })} onClose={close} />}
      {asked?.kind === 'revoke' && <RevokeKey id={asked.id} name={asked.name} onClose={close} />}
    </>
  )
}

function RevokeKey({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const revoke = () => {
    onClose()
    revokeApiKey(id).then(() => say(profileTexts.revoked({ name })), sayFailure)
  }
  return (
    <Dialog title={profileTexts.revokeTitle({ name })} action={profileTexts.revoke()} isDangerous onAction={revoke} onClose={onClose}>
      <p>{profileTexts.revokeWords()}</p>
    </Dialog>
  )
}
