import { createHash, randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import { type CarrelError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { authOf } from '#plugins/credentials/plugin-auth.ts'
import { openCallFailures } from '#plugins/host/call-failures.ts'
import { openHostCalls } from '#plugins/host/host-calls.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { openJsonReader } from '#plugins/host/json-reader.ts'
import type { PluginHealth } from '#plugins/host/plugin-health.ts'
import { budgetOf, pluginProgram, REFRESH, SETUP } from '#plugins/host/plugin-program.ts'
import { findCode, findPlugin, updatePlugin } from '#plugins/host/plugin-store.ts'
import { findUserPlugin } from '#plugins/host/user-plugin-store.ts'
import type { CallRecord, PluginJournal } from '#plugins/logs/plugin-journal.ts'
import { harmless, hideSecrets, redact } from '#plugins/logs/text.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import { readConfig } from '#plugins/packages/plugin-config.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Budget, Program } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

export interface PluginCall {
  pluginId: string
  /** Path of the function, such as `metadata.series.search`. */
  method: string
  input: unknown
  /** Reader that it runs for; null for the server's own work. */
  userId: string | null
  onProgress?: (fraction: number, text: string | null) => void
  /** Ends the call; what it was doing is thrown away. */
  signal?: AbortSignal
}

export interface PluginAnswer {
  result: unknown
  callId: string
  cpuMs: number
  wallMs: number
}

/** What became of a call: its answer, or why the plugin has none. */
export type Attempt = PluginAnswer | { failed: CarrelError }
export const hasFailed = (attempt: object): attempt is { failed: CarrelError } => 'failed' in attempt

/** Where a package is tried out: whatever it does to its process, nobody else is in it, and the process goes soon after. */
const rehearsalOf = (sha256: string) => `rehearsal ${sha256}`

export interface PluginCalls {
  /** @throws CarrelError: not_found, conflict (disabled, waiting, quarantined), invalid_value (the plugin refuses the input), unavailable (it failed) */
  call(call: PluginCall): Promise<PluginAnswer>
  /**
   * Opens what is to run once in a process of its own, and looks whether it is what its manifest says.
   * @param version.sha256 of the package
   * @throws invalid_value when it is not
   */
  rehearse(version: { manifest: Manifest; code: string; sourceMap: string | null; sha256: string }): Promise<void>
  /** Loads a version and calls its `setup`, or another function of it, beside the one that runs. @throws GuestError */
  tryOut(
    plugin: InstalledPlugin,
    method: 'setup' | 'migrate',
    owner: { userId: string | null; input: unknown },
  ): Promise<{ wallMs: number }>
  /** Ends all isolates of a plugin, or those of one reader. */
  end(pluginId: string, userId?: string): void
  close(): void
}

/** Isolates at a time, about 2 MB each; the one that was used longest ago makes room. */
const LIVE_MAX = 64
/** One that nobody calls any more is closed. */
const IDLE_MS = 10 * 60_000
const LOOK_EVERY_MS = 60_000
const INPUT_LENGTH_MAX = 4 * 1024 * 1024
/** Characters of what a plugin logs beside its words, as JSON. */
const LOGGED_LENGTH_MAX = 2_000
interface Live {
  versionId: string
  /** What it was set up with: another server may change it, and tells nobody here. */
  configured: string
  guest: Guest
  ready: Promise<void>
  /** Calls that run or wait. */
  calls: number
  lastUsed: number
}

/** What a call runs with, read anew for each. */
interface Setting {
  plugin: InstalledPlugin
  userId: string | null
  config: Record<string, unknown>
  userConfig: Record<string, unknown>
}

export interface PluginCallParts {
  database: Knex
  supervisor: Supervisor
  egress: Egress
  credentials: Credentials
  journal: PluginJournal
  health: PluginHealth
  log: Log
  /** False in safe mode. */
  enabled: boolean
  /** Told when a plugin has tripped. */
  onTripped: (plugin: InstalledPlugin, reason: string) => Promise<void>
  /** Told of answers that were right. */
  onSuccess: (plugin: InstalledPlugin) => Promise<void>
}

export function openPluginCalls(parts: PluginCallParts): PluginCalls {
  const { database, supervisor, egress, journal, health, log } = parts
  const answersFor = openHostCalls(parts)
  const reader = openJsonReader()
  const failures = openCallFailures({
    ...{ database, log, health, reader },
    async onTripped(plugin, reason, isQuarantined) {
      if (isQuarantined) end(plugin.id)
      await parts.onTripped(plugin, reason)
    },
  })
  /** Isolates by plugin, and by reader where it runs for one: nothing of one reader is ever in the memory of another's. */
  const live = new Map<string, Live>()

  const drop = (key: string): void => {
    const one = live.get(key)
    live.delete(key)
    one?.guest.close()
  }

  // A runner for each plugin: what one does to its process is nobody else's loss.
  const programOf = ({ id, manifest }: Pick<InstalledPlugin, 'id' | 'manifest'>, code: string, granted?: Permissions | null): Program =>
    pluginProgram({ manifest, code, place: `plugin ${id}`, methods: methodsOf(manifest), ...(granted && { granted }) })

  /** Closes what is idle, and one more where there are too many. */
  const tidy = (): void => {
    const idle = [...live].filter(([, { calls }]) => calls === 0).sort(([, a], [, b]) => a.lastUsed - b.lastUsed)
    for (const [index, [key, { lastUsed }]] of idle.entries()) {
      if (live.size - index < LIVE_MAX && performance.now() - lastUsed < IDLE_MS) break
      drop(key)
    }
  }
  const watch = setInterval(tidy, LOOK_EVERY_MS)
  watch.unref()

  async function getVerifiedCode(plugin: InstalledPlugin): Promise<string> {
    const { code, codeSha256 } =
      (await findCode(database, plugin.versionId)) ??
      refuse('not_found', `${plugin.key} ${plugin.version} was taken away or replaced just now.`)
    if (createHash('sha256').update(code).digest('hex') === codeSha256) return code
    const stateReason = 'Its code has been changed since it was installed.'
    await updatePlugin(database, plugin.id, { state: 'quarantined', stateReason }, { state: 'enabled', version_id: plugin.versionId })
    return refuse('conflict', `The code of ${plugin.key} has been changed since it was installed: it does not run.`)
  }

  async function open(setting: Setting): Promise<Live> {
    const { plugin, userId } = setting
    const key = `${plugin.id}/${userId ?? ''}`
    const configured = JSON.stringify([setting.config, setting.userConfig])
    const isSame = (one: Live) => one.versionId === plugin.versionId && one.configured === configured
    const known = live.get(key)
    if (known && isSame(known)) return known
    if (known) drop(key)
    const code = await getVerifiedCode(plugin)
    const other = live.get(key)
    // Somebody else was quicker while the code was read.
    if (other && isSame(other)) return other
    if (other) drop(key)
    tidy()
    const guest = supervisor.open(programOf(plugin, code, plugin.granted as Permissions))
    const opened: Live = {
      versionId: plugin.versionId,
      configured,
      guest,
      ready: setUp(guest, setting),
      calls: 0,
      lastUsed: performance.now(),
    }
    opened.ready.catch(() => {})
    live.set(key, opened)
    return opened
  }

  async function setUp(guest: Guest, setting: Setting): Promise<void> {
    if ((await guest.load()).includes('setup')) await run(guest, setting, 'setup', null, SETUP)
  }

  /** What the plugin is configured with, and the reader it runs for has. @throws GuestError config where that is not what its manifest takes */
  async function settle(plugin: InstalledPlugin, userId: string | null): Promise<Setting> {
    const own = userId === null ? null : await findUserPlugin(database, { pluginId: plugin.id, userId })
    try {
      const userConfig = userId === null ? {} : readConfig(plugin.manifest.userConfig, own?.config ?? {})
      return { plugin, userId, config: readConfig(plugin.manifest.config, plugin.config), userConfig }
    } catch (error) {
      throw new GuestError('thrown', error instanceof Error ? error.message : 'The configuration cannot be used.', 'config')
    }
  }

  function run(
    guest: Guest,
    setting: Setting,
    method: string,
    text: string | null,
    budget: Budget,
    options: Partial<PluginCall> & { record?: CallRecord; callId?: string; onUncaught?: (error: GuestError) => void } = {},
  ) {
    const { plugin, userId, config, userConfig } = setting
    const { record, callId = randomUUID(), onProgress, onUncaught } = options
    const auth = authOf({ ...plugin, config }, egress.local)
    const more = JSON.stringify({ callId, plugin: { id: plugin.key, version: plugin.version }, config, userConfig })
    return guest.call(method, text ?? 'null', budget, {
      more,
      onRequest: answersFor({
        ...{ pluginId: plugin.id, key: plugin.key, version: plugin.version, userId, auth, config },
        granted: plugin.granted as Permissions,
        dataVersion: plugin.dataVersion,
        privateHosts: plugin.privateHosts,
        http: plugin.manifest.http,
        method: method.slice(method.lastIndexOf('.') + 1),
        record,
      }),
      readLarge: reader.readLarge,
      ...(onUncaught && { onUncaught }),
      onSay(kind, { level, message, data, fraction, text: said }) {
        if (kind === 'progress') {
          if (typeof fraction === 'number') onProgress?.(Math.min(Math.max(fraction, 0), 1), typeof said === 'string' ? said : null)
          return
        }
        const to = level === 'error' || level === 'warn' || level === 'info' ? level : 'debug'
        record?.log(to, message, data)
        log[to](
          { plugin: plugin.key, callId, data: redact(data, { lengthMax: LOGGED_LENGTH_MAX }).value },
          `${plugin.key}: ${harmless(hideSecrets(String(message)))}`,
        )
      },
    })
  }

  const end = (pluginId: string, userId?: string): void => {
    for (const key of live.keys()) if (userId === undefined ? key.startsWith(`${pluginId}/`) : key === `${pluginId}/${userId}`) drop(key)
  }

  async function check({ pluginId, method }: PluginCall): Promise<InstalledPlugin> {
    const plugin = (await findPlugin<InstalledPlugin>(database, pluginId)) ?? refuse('not_found', `There is no plugin ${pluginId}.`)
    const { name } = plugin.manifest
    if (!parts.enabled) refuse('conflict', 'Plugins are switched off: the server runs in safe mode (plugins.enabled is false).')
    if (plugin.state !== 'enabled' || plugin.granted === null)
      refuse('conflict', `${name} is ${plugin.state === 'enabled' ? 'waiting for consent' : plugin.state}.`)
    if (!methodsOf(plugin.manifest).includes(method)) refuse('invalid_value', `${name} does not offer ${method}.`)
    return plugin
  }

  return {
    async call(call) {
      const plugin = await check(call)
      const text = JSON.stringify(call.input ?? null)
      if (text.length > INPUT_LENGTH_MAX) refuse('payload_too_large', 'That is more than a plugin can be given.')
      health.check(plugin, call.method, call.userId)
      const granted = plugin.granted as Permissions
      const budget = budgetOf(granted, call.method)
      const callId = randomUUID()
      const { method, userId, signal } = call
      const record = journal.begin({ callId, pluginId: plugin.id, key: plugin.key, version: plugin.version, method, userId })
      const named = { plugin, callId, method, userId, record }
      const begun = performance.now()
      const key = `${plugin.id}/${userId ?? ''}`
      const uncaught: GuestError[] = []
      const onUncaught = (error: GuestError) => void uncaught.push(error)
      let used: Live | null = null
      let giveUp = () => {}
      const givenUp = new Promise<never>((_, reject) => {
        giveUp = () => {
          // There is no other way to stop code in an isolate; where other calls run in it, what it answers is thrown away.
          if (used !== null && used.calls <= 1) drop(key)
          reject(new GuestError('closed', 'Nobody waits for this call any more.'))
        }
      })
      givenUp.catch(() => {})
      try {
        const setting = await settle(plugin, userId)
        used = await open(setting)
        used.calls += 1
        await used.ready.catch((error: unknown) => {
          if (live.get(key) === used) drop(key)
          throw error
        })
        signal?.addEventListener('abort', giveUp, { once: true })
        signal?.throwIfAborted()
        const { guest } = used
        const running = duringWork('plugin call', `${plugin.key} ${method} ${callId}`, async () => {
          const options = { record, callId, onUncaught, ...(call.onProgress && { onProgress: call.onProgress }) }
          const answer = await run(guest, setting, method, text, budget, options)
          noteWork()
          const onLeftOut = (what: string) => {
            record.log('warn', harmless(what))
            log.warn({ plugin: plugin.key, callId }, `${plugin.key}: ${harmless(what)}`)
          }
          return { answer, result: await reader.readResult(method, answer.text, onLeftOut) }
        })
        const { answer, result } = await Promise.race([running, givenUp])
        const { cpuMs, wallMs } = answer
        const queueMs = Math.max(performance.now() - begun - wallMs, 0)
        record.end({
          ...(uncaught[0] && (await failures.keepUncaught(named, uncaught[0]))),
          code: 'ok',
          cpuMs,
          wallMs,
          queueMs,
          inputLength: text.length,
          resultLength: answer.text.length,
          input: call.input,
          result,
        })
        await Promise.all([health.succeeded(plugin, method, userId), parts.onSuccess(plugin)])
        return { result, callId, cpuMs, wallMs }
      } catch (error) {
        const wallMs = performance.now() - begun
        const told = await failures.tell(named, error, uncaught[0] ?? null)
        record.end({ ...told, cpuMs: 0, wallMs, queueMs: 0, inputLength: text.length, resultLength: 0, input: call.input })
        signal?.throwIfAborted()
        if (error instanceof GuestError) return await failures.fail(named, error, told)
        throw error
      } finally {
        signal?.removeEventListener('abort', giveUp)
        if (used) {
          used.calls -= 1
          used.lastUsed = performance.now()
        }
      }
    },

    async rehearse({ manifest, code, sourceMap, sha256 }) {
      const wanted = methodsOf(manifest)
      const plugin = { id: randomUUID(), manifest }
      const guest = supervisor.open({ ...programOf(plugin, code), place: rehearsalOf(sha256), alone: true })
      try {
        const defined = await guest.load()
        const missing = wanted.filter((method) => !defined.includes(method))
        if (missing.length > 0) refuse('invalid_value', `The manifest promises ${missing.join(', ')}, which main.js does not define.`)
        if ((manifest.dataVersion ?? 1) > 1 && !defined.includes('migrate'))
          refuse('invalid_value', `The manifest says dataVersion ${manifest.dataVersion}, and main.js does not define migrate.`)
      } catch (error) {
        const told = await failures.located(sourceMap, error)
        if (told instanceof GuestError) refuse('invalid_value', `main.js does not start: ${told.message}`)
        throw told
      } finally {
        guest.close()
      }
    },

    async tryOut(plugin, method, { userId, input }) {
      const guest = supervisor.open({
        ...programOf(plugin, await getVerifiedCode(plugin), plugin.granted),
        place: rehearsalOf(plugin.sha256),
        alone: true,
      })
      const begun = performance.now()
      try {
        const setting = await settle(plugin, userId)
        if ((await guest.load()).includes(method))
          await run(guest, setting, method, JSON.stringify(input), method === 'setup' ? SETUP : REFRESH)
        return { wallMs: performance.now() - begun }
      } catch (error) {
        throw await failures.located({ versionId: plugin.versionId }, error)
      } finally {
        guest.close()
      }
    },

    end,
    close() {
      clearInterval(watch)
      for (const key of [...live.keys()]) drop(key)
      reader.close()
    },
  }
}
