import { createHash, randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { refuse } from '#core/errors.ts'
import type { Log } from '#core/log.ts'
import {
  addVersion,
  countFailures,
  deleteFailures,
  deletePlugin,
  dropOldVersions,
  findPlugin,
  getCode,
  listPlugins,
  listVersions,
  lockPlugin,
  type PluginRow,
  recordFailure,
  updatePlugin,
  type VersionRow,
} from '#core/plugin/plugin-store.ts'
import type { Egress } from '#plugins/egress.ts'
import type { Guest, Program } from '#plugins/guest.ts'
import { GuestError } from '#plugins/guest-error.ts'
import { openHostCalls } from '#plugins/host-calls.ts'
import { type Manifest, methodsOf } from '#plugins/manifest.ts'
import { readPackage } from '#plugins/package/plugin-package.ts'
import { checkUpgrade } from '#plugins/package/upgrade.ts'
import { type Permissions, permissionGrowth, permissionsOf } from '#plugins/permissions.ts'
import { readResult } from '#plugins/results.ts'
import type { Supervisor } from '#plugins/supervisor.ts'

export type InstalledPlugin = PluginRow<Manifest, Permissions>

export interface PluginCall {
  pluginId: string
  /** Path of the function, such as `metadata.series.search`. */
  method: string
  input: unknown
  /** Reader that it runs for; null for the server's own work. */
  userId: string | null
  onProgress?: (fraction: number, text: string | null) => void
}

export interface PluginHost {
  list(): Promise<InstalledPlugin[]>
  /** @throws not_found */
  get(id: string): Promise<InstalledPlugin>
  /** The versions that are kept, the newest first. */
  versions(id: string): Promise<VersionRow[]>
  /**
   * Checks a package and keeps it. A plugin's first version, and one that asks for more than was granted, waits for consent; the version that runs
   * goes on running.
   * @throws invalid_value for a package that is none, conflict for a version that is here already or was signed by somebody else
   */
  install(bytes: Buffer, userId: string | null): Promise<{ plugin: InstalledPlugin; version: string; waitsFor: string[] }>
  /** Agrees to what a version asks for and runs it. @param sha256 of the package that was looked at */
  consent(id: string, version: { sha256: string }): Promise<InstalledPlugin>
  setEnabled(id: string, enabled: boolean): Promise<InstalledPlugin>
  configure(id: string, config: Record<string, unknown>): Promise<InstalledPlugin>
  uninstall(id: string): Promise<void>
  /** Forgets failures and lets a quarantined plugin run again. */
  reset(id: string): Promise<InstalledPlugin>
  /**
   * Calls a function and checks what it answers.
   * @throws CarrelError: not_found, conflict (disabled, waiting, quarantined), invalid_value (the plugin refuses the input), unavailable (it failed)
   */
  call(call: PluginCall): Promise<{ result: unknown; callId: string; cpuMs: number; wallMs: number }>
  close(): void
}

const KEPT_VERSIONS = 2
/** Isolates at a time, about 2 MB each; the one that was used longest ago makes room. */
const LIVE_MAX = 64
/** One that nobody calls any more is closed. */
const IDLE_MS = 10 * 60_000
const LOOK_EVERY_MS = 60_000
const LOAD = { cpuMs: 500, wallMs: 5_000 }
const REFRESH = { cpuMs: 5_000, wallMs: 120_000 }
const SETUP = { cpuMs: 500, wallMs: 10_000 }
const RESULT_LENGTH_MAX = 1024 * 1024
const INPUT_LENGTH_MAX = 4 * 1024 * 1024
/** Ways to end that only broken or hostile code has; so many within the time, and an administrator has to look. */
const QUARANTINE = { codes: ['memory', 'crash', 'cpu'], minutes: 10, failures: 3 }
/** Failures in a row after which a plugin is left alone for a while, longer each time. */
const BREAKER = { failures: 5, firstMs: 30_000, lastMs: 30 * 60_000 }
/** What a plugin says without being at fault. */
const INNOCENT = new Set(['rate_limited', 'not_found', 'auth', 'upstream', 'config', 'permission', 'closed', 'limit', 'server'])
/** What else it may say of itself; any other word of its own counts as thrown, for those of the sandbox are not its to say. */
const OWN_CODES = new Set([...INNOCENT, 'invalid_argument', 'too_large'])

interface Live {
  versionId: string
  guest: Guest
  ready: Promise<void>
  /** Calls that run or wait. */
  calls: number
  lastUsed: number
}

export function openPluginHost(parts: { database: Knex; supervisor: Supervisor; egress: Egress; log: Log }): PluginHost {
  const { database, supervisor, log } = parts
  const answersFor = openHostCalls(parts)
  /** Isolates by plugin, and by reader where it runs for one: nothing of one reader is ever in the memory of another's. */
  const live = new Map<string, Live>()
  const breakers = new Map<string, { failures: number; openUntil: number; pauseMs: number }>()

  const get = async (id: string): Promise<InstalledPlugin> =>
    (await findPlugin<InstalledPlugin>(database, id)) ?? refuse('not_found', `There is no plugin ${id}.`)

  const end = (id: string): void => {
    for (const [key, { guest }] of live) {
      if (!key.startsWith(`${id}/`)) continue
      live.delete(key)
      guest.close()
    }
  }

  const programOf = (plugin: InstalledPlugin, code: string, granted: Permissions): Program => ({
    name: `the plugin ${plugin.key}`,
    // A runner for each plugin: what one does to its process is nobody else's loss.
    place: `plugin ${plugin.id}`,
    sources: [{ name: `${plugin.key}.js`, code, module: true }],
    memoryMbMax: granted.heapMB,
    load: LOAD,
    resultLengthMax: RESULT_LENGTH_MAX,
    concurrency: 4,
    queueMax: 64,
    restMs: 0,
    plugin: { methods: ['setup', ...methodsOf(plugin.manifest)], hostCalls: 100, inFlight: 8, logLines: 200, logLength: 64 * 1024 },
  })

  /** Opens what is to run once in a process of its own, and looks whether it is what its manifest says. */
  async function rehearse(key: string, manifest: Manifest, code: string): Promise<void> {
    const wanted = methodsOf(manifest)
    const guest = supervisor.open({
      ...programOf({ id: randomUUID(), key, manifest } as InstalledPlugin, code, permissionsOf(manifest)),
      place: `rehearsal ${randomUUID()}`,
    })
    try {
      const defined = await guest.load()
      const missing = wanted.filter((method) => !defined.includes(method))
      if (missing.length > 0) refuse('invalid_value', `The manifest promises ${missing.join(', ')}, which main.js does not define.`)
    } catch (error) {
      if (error instanceof GuestError) refuse('invalid_value', `main.js does not start: ${error.message}`)
      throw error
    } finally {
      guest.close()
    }
  }

  /** Closes what is idle, and one more where there are too many. */
  const tidy = (): void => {
    const idle = [...live].filter(([, { calls }]) => calls === 0).sort(([, a], [, b]) => a.lastUsed - b.lastUsed)
    for (const [index, [key, { guest, lastUsed }]] of idle.entries()) {
      if (live.size - index < LIVE_MAX && performance.now() - lastUsed < IDLE_MS) break
      live.delete(key)
      guest.close()
    }
  }
  const watch = setInterval(tidy, LOOK_EVERY_MS)
  watch.unref()

  async function open(plugin: InstalledPlugin, userId: string | null): Promise<Live> {
    const key = `${plugin.id}/${userId ?? ''}`
    const known = live.get(key)
    if (known && known.versionId === plugin.versionId) return known
    if (known) known.guest.close()
    const { code, codeSha256 } = await getCode(database, plugin.versionId)
    if (createHash('sha256').update(code).digest('hex') !== codeSha256) {
      await updatePlugin(database, plugin.id, { state: 'quarantined', stateReason: 'Its code has been changed since it was installed.' })
      refuse('conflict', `The code of ${plugin.key} has been changed since it was installed: it does not run.`)
    }
    const other = live.get(key)
    // Somebody else was quicker while the code was read.
    if (other && other.versionId === plugin.versionId) return other
    tidy()
    const guest = supervisor.open(programOf(plugin, code, plugin.granted as Permissions))
    const opened: Live = { versionId: plugin.versionId, guest, ready: setUp(plugin, userId, guest), calls: 0, lastUsed: performance.now() }
    opened.ready.catch(() => {})
    live.set(key, opened)
    return opened
  }

  const moreFor = (plugin: InstalledPlugin, callId: string): string =>
    JSON.stringify({ callId, plugin: { id: plugin.key, version: plugin.version }, config: plugin.config, userConfig: {} })

  async function setUp(plugin: InstalledPlugin, userId: string | null, guest: Guest): Promise<void> {
    const defined = await guest.load()
    if (!defined.includes('setup')) return
    const callId = randomUUID()
    await guest.call('setup', 'null', SETUP, { more: moreFor(plugin, callId), ...requestsOf(plugin, userId, callId) })
  }

  const requestsOf = (plugin: InstalledPlugin, userId: string | null, callId: string, onProgress?: PluginCall['onProgress']) => ({
    onRequest: answersFor({
      pluginId: plugin.id,
      key: plugin.key,
      version: plugin.version,
      granted: plugin.granted as Permissions,
      userId,
    }),
    onSay: (kind: 'log' | 'progress', { level, message, data, fraction, text }: Record<string, unknown>) => {
      if (kind === 'progress') {
        if (typeof fraction === 'number') onProgress?.(Math.min(Math.max(fraction, 0), 1), typeof text === 'string' ? text : null)
        return
      }
      const to = level === 'error' || level === 'warn' || level === 'info' ? level : 'debug'
      log[to]({ plugin: plugin.key, callId, data }, `${plugin.key}: ${String(message).replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')}`)
    },
  })

  async function fail(plugin: InstalledPlugin, call: PluginCall, callId: string, error: GuestError): Promise<never> {
    // A service that does not answer in time is no plugin that takes too long.
    const own = error.own === 'timeout' ? 'upstream' : error.own
    const code = error.code === 'thrown' && own !== null && OWN_CODES.has(own) ? own : error.code
    await recordFailure(database, plugin.id, {
      version: plugin.version,
      method: call.method,
      code,
      message: error.message.slice(0, 2_000),
      callId,
    })
    if (!INNOCENT.has(code)) {
      const breaker = breakers.get(plugin.id) ?? { failures: 0, openUntil: 0, pauseMs: BREAKER.firstMs }
      breaker.failures += 1
      if (breaker.failures >= BREAKER.failures) {
        breaker.openUntil = performance.now() + breaker.pauseMs
        breaker.pauseMs = Math.min(breaker.pauseMs * 2, BREAKER.lastMs)
        breaker.failures = 0
      }
      breakers.set(plugin.id, breaker)
    }
    if (QUARANTINE.codes.includes(code) && (await countFailures(database, plugin.id, QUARANTINE)) >= QUARANTINE.failures) {
      await updatePlugin(database, plugin.id, {
        state: 'quarantined',
        stateReason: `It broke its sandbox ${QUARANTINE.failures} times within ${QUARANTINE.minutes} minutes, the last time so: ${error.message}`,
      })
      end(plugin.id)
      log.warn({ plugin: plugin.key }, 'A plugin was put into quarantine')
    }
    const details = { pluginId: plugin.id, code, callId }
    if (code === 'not_found') refuse('not_found', `${plugin.manifest.name}: ${error.message}`, { details })
    refuse('unavailable', `${plugin.manifest.name} could not do this (${code}): ${error.message}`, { details })
  }

  return {
    list: () => listPlugins<InstalledPlugin>(database),
    get,
    versions: (id) => listVersions(database, id),

    async install(bytes, userId) {
      const { manifest, code, readme, sha256, signedBy } = readPackage(bytes)
      await rehearse(manifest.id, manifest, code)
      const { pluginId, waitsFor } = await database.transaction(async (trx) => {
        const known = await lockPlugin(trx, manifest.id)
        const before = known ? await findPlugin<InstalledPlugin>(trx, known.id) : null
        if (known && before) checkUpgrade({ before, versions: await listVersions(trx, before.id), manifest, signedBy })
        const { pluginId, versionId } = await addVersion(trx, {
          ...{ key: manifest.id, version: manifest.version, sha256, manifest, code, readme, signedBy, userId },
          codeSha256: createHash('sha256').update(code).digest('hex'),
        })
        const growth = before?.granted ? permissionGrowth(before.granted, permissionsOf(manifest)) : ['runs for the first time']
        if (growth.length === 0) {
          await updatePlugin(trx, pluginId, { versionId, granted: permissionsOf(manifest) })
          await dropOldVersions(trx, pluginId, KEPT_VERSIONS)
        }
        return { pluginId, waitsFor: growth }
      })
      if (waitsFor.length === 0) end(pluginId)
      return { plugin: await get(pluginId), version: manifest.version, waitsFor }
    },

    async consent(id, { sha256 }) {
      await database.transaction(async (trx) => {
        const plugin = (await findPlugin<InstalledPlugin>(trx, id)) ?? refuse('not_found', `There is no plugin ${id}.`)
        await lockPlugin(trx, plugin.key)
        const version = (await listVersions(trx, id)).find((one) => one.sha256 === sha256)
        if (version === undefined)
          return refuse('conflict', 'That is not a package of this plugin: look at it again, and agree to what you see then.')
        await updatePlugin(trx, id, {
          versionId: version.id,
          granted: permissionsOf(version.manifest as Manifest),
          state: 'enabled',
          stateReason: null,
        })
        await dropOldVersions(trx, id, KEPT_VERSIONS)
      })
      end(id)
      breakers.delete(id)
      return await get(id)
    },

    async setEnabled(id, enabled) {
      const plugin = await get(id)
      if (enabled && plugin.granted === null) refuse('conflict', `Nobody has agreed yet to what ${plugin.key} asks for.`)
      if (enabled && plugin.state === 'quarantined')
        refuse('conflict', `${plugin.key} is in quarantine (${plugin.stateReason}); reset it first.`)
      await updatePlugin(database, id, { state: enabled ? 'enabled' : plugin.granted === null ? 'waiting' : 'disabled', stateReason: null })
      if (!enabled) end(id)
      return await get(id)
    },

    async configure(id, config) {
      await get(id)
      await updatePlugin(database, id, { config })
      end(id)
      return await get(id)
    },

    async uninstall(id) {
      if (!(await deletePlugin(database, id))) refuse('not_found', `There is no plugin ${id}.`)
      end(id)
      breakers.delete(id)
    },

    async reset(id) {
      const plugin = await get(id)
      await deleteFailures(database, id)
      breakers.delete(id)
      end(id)
      if (plugin.state === 'quarantined') await updatePlugin(database, id, { state: 'disabled', stateReason: null })
      return await get(id)
    },

    async call(call) {
      const plugin = await get(call.pluginId)
      if (plugin.state !== 'enabled' || plugin.granted === null)
        refuse('conflict', `${plugin.manifest.name} is ${plugin.state === 'enabled' ? 'waiting for consent' : plugin.state}.`)
      if (!methodsOf(plugin.manifest).includes(call.method))
        refuse('invalid_value', `${plugin.manifest.name} does not offer ${call.method}.`)
      const pauseMs = (breakers.get(plugin.id)?.openUntil ?? 0) - performance.now()
      if (pauseMs > 0)
        refuse('unavailable', `${plugin.manifest.name} failed too often and is left alone for a while.`, {
          retryAfterSeconds: Math.ceil(pauseMs / 1000),
        })
      const text = JSON.stringify(call.input ?? null)
      if (text.length > INPUT_LENGTH_MAX) refuse('payload_too_large', 'That is more than a plugin can be given.')
      const callId = randomUUID()
      const budget = call.method.endsWith('.refresh') ? REFRESH : { cpuMs: plugin.granted.cpuMs, wallMs: plugin.granted.wallMs }
      let used: Live | null = null
      try {
        used = await open(plugin, call.userId)
        used.calls += 1
        const { guest, ready } = used
        await ready.catch((error: unknown) => {
          live.delete(`${plugin.id}/${call.userId ?? ''}`)
          guest.close()
          throw error
        })
        const answer = await guest.call(call.method, text, budget, {
          more: moreFor(plugin, callId),
          ...requestsOf(plugin, call.userId, callId, call.onProgress),
        })
        const result = readResult(call.method, answer.text)
        const breaker = breakers.get(plugin.id)
        if (breaker) breakers.set(plugin.id, { failures: 0, openUntil: 0, pauseMs: BREAKER.firstMs })
        return { result, callId, cpuMs: answer.cpuMs, wallMs: answer.wallMs }
      } catch (error) {
        if (error instanceof GuestError) return await fail(plugin, call, callId, error)
        throw error
      } finally {
        if (used) {
          used.calls -= 1
          used.lastUsed = performance.now()
        }
      }
    },

    close() {
      clearInterval(watch)
      for (const { guest } of live.values()) guest.close()
      live.clear()
    },
  }
}
