import type { Knex } from 'knex'
import compare from 'semver/functions/compare.js'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { escapedText, quotedText } from '#core/foundation/stranger-text.ts'
import { cutText } from '#core/foundation/text.ts'
import { listIdNames, prefixNewNames } from '#core/metadata/id-name-query.ts'
import { narrowConsent, recordConsent } from '#plugins/consent/consent-store.ts'
import { isCovered } from '#plugins/consent/coverage.ts'
import { checkRecordSize, consentRecordOf } from '#plugins/consent/record.ts'
import {
  findAgreed,
  getForConsent,
  type JudgedVersion,
  type Review,
  type RevocationOf,
  reviewOf,
  reviewStored,
} from '#plugins/host/consent-review.ts'
import { prepareVersion } from '#plugins/host/data-migration.ts'
import type { InstalledPlugin, PluginState, PluginVersion } from '#plugins/host/installed-plugin.ts'
import { keepVersion } from '#plugins/host/keep-version.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import type { PluginHealth } from '#plugins/host/plugin-health.ts'
import { acceptSigners, replaceIdentity } from '#plugins/host/plugin-identity-store.ts'
import { checkReservedId, type Identified, type PluginSignature } from '#plugins/host/plugin-signature.ts'
import { dropStorage } from '#plugins/host/plugin-storage-store.ts'
import {
  deleteFailures,
  deletePlugin,
  deleteUnusedVersion,
  dropOldVersions,
  getPlugin,
  listPlugins,
  listVersions,
  markRolledBack,
  type PluginChange,
  updatePlugin,
  type VersionRow,
} from '#plugins/host/plugin-store.ts'
import { changeForUsers } from '#plugins/host/user-pauses.ts'
import { recordDataVersions } from '#plugins/host/user-plugin-store.ts'
import type { PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { PackageOrigin } from '#plugins/packages/identity.ts'
import { grantedOf, requestedPermissions } from '#plugins/packages/permissions.ts'
import { readPackageBeside } from '#plugins/packages/plugin-package.ts'

export interface Installation {
  /** With the version that runs, or the newest when none runs yet. */
  plugin: InstalledPlugin
  /** With this version. */
  offered: InstalledPlugin
  version: string
  /** Of the package: consent applies to this hash. */
  sha256: string
  /** What an administrator must grant or change before this version runs; empty when it runs already. */
  waitsFor: string[]
  signature: PluginSignature
  review: Review
  /** For how many users the plugin pauses until they agree again, because this version runs. */
  pausedUsers: number
}

/** A plugin whose version was switched, and for how many users it pauses by that until they agree again. */
export type SwitchedPlugin = InstalledPlugin & Pick<Installation, 'pausedUsers'>

interface InstallOptions extends Partial<PackageOrigin> {
  /** The administrator who installs it. */
  userId: string | null
  /** What the repository says about the package. */
  expected?: { id: string; version: string; sha256: string }
}

/** Besides the running version and the previous one. */
const KEPT_VERSIONS = 2
/** Successful calls until a new version is trusted. */
const PROBATION_CALLS = 50

/** For a version that an administrator installs, who has acted so; the version in quarantine never runs again by itself. */
const LIFTED = [{ state: 'enabled', previousVersionId: null }, { from: ['quarantined'] }] as const

interface LifecycleOptions {
  database: Knex
  log: Log
  health: PluginHealth
  logs: Pick<PluginLogs, 'forget'>
  calls: PluginCalls
  revocationOf: RevocationOf
}

/** Installs and removes plugins, and decides which version of each runs. */
export class PluginLifecycle {
  readonly #options: LifecycleOptions
  /** Successful calls of versions on probation, by version. */
  readonly #proved = new Register<number>()

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  /**
   * Checks and stores a package. The first version of a plugin, and one whose record differs from the agreed one, waits for consent; the running
   * version continues to run.
   * @throws invalid_value for an invalid or unexpected package, conflict for a version that is already installed, is signed with another key,
   * or is revoked
   */
  async install(bytes: Buffer, { userId, expected, ...origin }: InstallOptions): Promise<Installation> {
    const read = await readPackageBeside(bytes)
    const { manifest, sha256 } = read
    if (expected && (expected.id !== manifest.id || expected.version !== manifest.version || expected.sha256 !== sha256))
      refuse('invalid_value', `The package is ${manifest.id} ${manifest.version} (${sha256}), which differs from the repository's entry.`)
    await checkReservedId(manifest.id, sha256)
    const repository = origin.repository ?? null
    await this.#refuseRevoked(manifest.id, { version: manifest.version, sha256, repository })
    checkRecordSize(consentRecordOf({ ...read, repository }))
    await this.#options.calls.smokeTest(read)
    const { pluginId, versionId, before, identified } = await keepVersion(this.#options.database, read, userId, { ...origin, repository })
    const stored =
      (await findVersion(this.#options.database, pluginId, ({ id }) => id === versionId)) ??
      refuse('conflict', `${manifest.id} was changed meanwhile.`)
    const agreed = await findAgreed(this.#options.database, before)
    // Of what is stored: not every signature of the package counts.
    const review = reviewOf({ ...stored, record: consentRecordOf(stored) }, agreed, before?.config)
    const takesOver = before !== null && before.runningVersionId !== null && review.waitsFor.length === 0
    const pausedUsers = takesOver ? await this.#takeOver(before, stored, identified) : 0
    const plugin = await getPlugin(this.#options.database, pluginId)
    const offered = { ...plugin, ...stored, id: pluginId, versionId, manifest, readme: read.readme }
    return {
      plugin,
      offered,
      version: manifest.version,
      sha256,
      waitsFor: review.waitsFor,
      signature: identified.signature,
      review,
      pausedUsers,
    }
  }

  /**
   * Stores the consent to a package, and runs it. Consenting again to what runs changes nothing.
   * @param sha256 of the package that the administrator has reviewed
   * @throws conflict when that is not the newest stored package that may run, or the plugin was changed meanwhile
   */
  async consent(id: string, { sha256, userId = null }: { sha256: string; userId?: string | null }): Promise<SwitchedPlugin> {
    const plugin = await getPlugin(this.#options.database, id)
    const versions = await listVersions(this.#options.database, id)
    const version = await getForConsent(plugin, versions, sha256, this.#options.revocationOf)
    const agreed = await findAgreed(this.#options.database, plugin)
    if (plugin.runningVersionId === version.id && plugin.state === 'enabled' && agreed?.consentedAt && agreed.sha256 === sha256)
      return { ...plugin, pausedUsers: 0 }
    const after = await this.#switchTo(
      plugin,
      version,
      { state: 'enabled', stateReason: null },
      { consent: { userId, newestId: versions[0]?.id } },
    )
    // It may have been revoked while it was started.
    if ((await this.#options.revocationOf({ key: plugin.key, ...version })) === null) return after
    await this.applyRevocations()
    return { ...(await getPlugin(this.#options.database, id)), pausedUsers: after.pausedUsers }
  }

  /** Runs an older stored version, with its own data. @param sha256 by default the previously running version */
  async rollBack(id: string, { sha256 }: { sha256?: string } = {}): Promise<SwitchedPlugin> {
    const plugin = await getPlugin(this.#options.database, id)
    const version = await getForRollback(this.#options.database, plugin, sha256)
    await this.#refuseRevoked(plugin.key, version)
    const review = await reviewStored(this.#options.database, plugin, version)
    if (!isCovered(review.record, review.differences)) refuse('conflict', `${plugin.key} ${version.version} ${waitingWords(review)}`)
    return await this.#switchTo(plugin, version, {
      previousVersionId: null,
      probationCalls: 0,
      ...calmState(plugin.state),
      stateReason: null,
    })
  }

  async setEnabled(id: string, enabled: boolean): Promise<InstalledPlugin> {
    const plugin = await getPlugin(this.#options.database, id)
    if (enabled && plugin.granted === null) refuse('conflict', `An administrator must first grant the permissions of ${plugin.key}.`)
    if (enabled && plugin.state === 'quarantined')
      refuse(
        'conflict',
        `${plugin.key} is in quarantine. ${plugin.stateReason} Reset it first: POST /api/v1/admin/plugins/${plugin.key}/reset.`,
      )
    if (enabled) await this.#refuseRevoked(plugin.key, plugin)
    await updatePlugin(this.#options.database, id, {
      state: enabled ? 'enabled' : plugin.granted === null ? 'waiting' : 'disabled',
      stateReason: null,
    })
    return await getPlugin(this.#options.database, id)
  }

  async uninstall(id: string): Promise<void> {
    if (!(await deletePlugin(this.#options.database, id))) refuse('not_found', `There is no plugin ${id}.`)
    this.#options.health.forget(id)
    this.#options.logs.forget(id)
  }

  /** Deletes the failures and lets a quarantined plugin run again. */
  async reset(id: string): Promise<InstalledPlugin> {
    const plugin = await getPlugin(this.#options.database, id)
    await deleteFailures(this.#options.database, id)
    await updatePlugin(this.#options.database, id, {
      breaker: null,
      ...calmState(plugin.state),
      ...(plugin.state === 'quarantined' && { stateReason: null }),
    })
    this.#options.health.forget(id)
    return await getPlugin(this.#options.database, id)
  }

  /** Stops and marks revoked plugins. Returns their ids. */
  async applyRevocations(): Promise<string[]> {
    const revoked: string[] = []
    for (const plugin of await listPlugins(this.#options.database)) {
      const reason = await this.#options.revocationOf(plugin)
      if (reason === null || plugin.state === 'revoked') continue
      await updatePlugin(this.#options.database, plugin.id, {
        state: 'revoked',
        stateReason: `${plugin.version} was revoked. Its repository says: ${quotedText(reason)}`,
      })
      this.#options.log.warn(
        { plugin: plugin.key, version: plugin.version, reason: escapedText(reason) },
        'A plugin was revoked and no longer runs',
      )
      revoked.push(plugin.id)
    }
    return revoked
  }

  /** A version that fails on probation is replaced by the previous one. */
  async onTripped(plugin: InstalledPlugin, reason: string): Promise<void> {
    if (plugin.probationCalls === 0 || plugin.previousVersionId === null) return
    const version = await findVersion(this.#options.database, plugin.id, ({ id }) => id === plugin.previousVersionId)
    if (version === undefined || (await this.#options.revocationOf({ key: plugin.key, ...version })) !== null) return
    this.#proved.delete(plugin.versionId)
    const said = `${plugin.version} failed right after the update (the plugin says: ${quotedText(cutText(reason, 500))});`
    const review = await reviewStored(this.#options.database, plugin, version)
    if (!isCovered(review.record, review.differences)) {
      // Its calls pause like those of any plugin that fails.
      const stateReason = `${said} ${version.version} does not run again by itself: it ${waitingWords(review)}`
      await updatePlugin(this.#options.database, plugin.id, { stateReason, probationCalls: 0 }, { version_id: plugin.versionId })
      this.#options.log.warn({ plugin: plugin.key, version: plugin.version, reason }, stateReason)
      return
    }
    const stateReason = `${said} ${version.version} runs again.`
    try {
      // Never a plugin that was disabled while its last call ran.
      const from = ['enabled', 'quarantined'] as const
      await this.#switchTo(plugin, version, { state: 'enabled', stateReason, previousVersionId: null, probationCalls: 0 }, { from })
    } catch (error) {
      // Another call or an administrator has changed it meanwhile, which counts.
      if (error instanceof AppError) return
      throw error
    }
    this.#options.log.warn({ plugin: plugin.key, from: plugin.version, to: version.version, reason }, stateReason)
  }

  async onSuccess(plugin: InstalledPlugin): Promise<void> {
    if (plugin.probationCalls === 0) return
    const count = (this.#proved.get(plugin.versionId) ?? 0) + 1
    this.#proved.set(plugin.versionId, count)
    if (count < plugin.probationCalls) return
    this.#proved.delete(plugin.versionId)
    await updatePlugin(this.#options.database, plugin.id, { probationCalls: 0 }, { version_id: plugin.versionId })
  }

  async #refuseRevoked(key: string, { version, sha256, repository }: Omit<JudgedVersion, 'key'>): Promise<void> {
    const reason = await this.#options.revocationOf({ key, version, sha256, repository })
    if (reason !== null) refuse('conflict', `${key} ${version} is revoked and must not run. Its repository says: ${quotedText(reason)}`)
  }

  /** Runs a version that needs no consent. Returns for how many users the plugin pauses. */
  async #takeOver(before: InstalledPlugin, version: VersionRow, identified: Identified): Promise<number> {
    const [change, only] = before.state === 'quarantined' ? LIFTED : ([{}, undefined] as const)
    try {
      return (await this.#switchTo(before, version, change, only)).pausedUsers
    } catch (error) {
      // A version that could not take over is deleted: it would only block the next try. It also decides nothing about later ones.
      if (error instanceof AppError && (await deleteUnusedVersion(this.#options.database, version.id)))
        await restoreIdentity(this.#options.database, identified)
      throw error
    }
  }

  /**
   * Makes a version the running one, atomically. Without a consent it must cause nothing beyond what was agreed to.
   * @param from states in which that is allowed; default all
   * @param consent stored with it
   */
  async #switchTo(
    before: InstalledPlugin,
    version: VersionRow,
    change: PluginChange,
    { from, consent }: { from?: readonly PluginState[]; consent?: { userId: string | null; newestId: string | undefined } } = {},
  ): Promise<SwitchedPlugin> {
    const record = consentRecordOf(version)
    const after = withVersion(before, version, { isSeen: consent !== undefined })
    const replaces = before.runningVersionId !== null && before.runningVersionId !== version.id
    // What is disabled or in quarantine runs no setup, an update neither.
    const mayRun = (change.state ?? before.state) === 'enabled'
    const order = compare(version.version, before.version)
    const migrated = replaces && order > 0 ? await prepareVersion(this.#options, before, after, mayRun) : []
    const pausedUsers = await changeForUsers(this.#options, before, async (trx, now) => {
      if (now === null || now.runningVersionId !== before.runningVersionId || from?.includes(now.state) === false)
        refuse('conflict', `${before.key} was changed meanwhile. Review it again.`)
      if (consent) {
        const [newest] = await listVersions(trx, before.id)
        if (newest?.id !== consent.newestId) refuse('conflict', `Another version of ${before.key} was stored meanwhile. Review it again.`)
        await recordConsent(trx, before.id, { record, sha256: version.sha256, userId: consent.userId })
      } else await narrowConsent(trx, before.id, record)
      await acceptSigners(trx, before.key, version)
      const names = await listIdNames(trx)
      await updatePlugin(trx, before.id, {
        versionId: version.id,
        granted: after.granted,
        dataVersion: after.dataVersion,
        breaker: null,
        ...(replaces && { previousVersionId: before.runningVersionId, probationCalls: PROBATION_CALLS }),
        // Such as why the version before was rolled back.
        ...(replaces && mayRun && { stateReason: null }),
        ...change,
      })
      await recordDataVersions(trx, before.id, after.dataVersion, migrated)
      if (replaces) await markRolledBack(trx, { from: order < 0 ? before.runningVersionId : null, to: version.id })
      await prefixNewNames(trx, names)
      await dropOldVersions(trx, before.id, KEPT_VERSIONS)
      const kept = (await listVersions(trx, before.id)).map(({ manifest }) => manifest.dataVersion ?? 1)
      await dropStorage(trx, before.id, kept)
    })
    this.#options.health.forget(before.id)
    return { ...(await getPlugin(this.#options.database, before.id)), pausedUsers }
  }
}

/** Unless another package was stored meanwhile, which names who may follow it. */
async function restoreIdentity(database: Knex, { before, after }: Identified): Promise<void> {
  if (before !== null && after !== null) await replaceIdentity(database, after, before)
}

const findVersion = async (database: Knex, id: string, wanted: (version: VersionRow) => boolean): Promise<VersionRow | undefined> =>
  (await listVersions(database, id)).find(wanted)

/** The older version that shall run again. @throws conflict when there is none, or it is not older */
async function getForRollback(database: Knex, plugin: InstalledPlugin, sha256: string | undefined): Promise<VersionRow> {
  const versions = await listVersions(database, plugin.id)
  if (plugin.runningVersionId !== null && versions.length === 1)
    refuse('conflict', `There is no other version of ${plugin.key} to roll back to: only ${plugin.version} is stored.`)
  const version = versions.find((one) => (sha256 === undefined ? one.id === plugin.previousVersionId : one.sha256 === sha256))
  if (plugin.runningVersionId === null || version === undefined)
    return refuse(
      'conflict',
      `There is no ${sha256 === undefined ? 'earlier version' : 'version with that hash'} of ${plugin.key} to roll back to. ` +
        `Consent to the SHA-256 of another stored version to run that one: GET /api/v1/admin/plugins/${plugin.key}/versions lists them.`,
    )
  if (compare(version.version, plugin.version) >= 0)
    refuse(
      'conflict',
      version.id === plugin.runningVersionId
        ? `${plugin.key} ${version.version} runs already.`
        : `${plugin.key} ${version.version} is not older than ${plugin.version}, which runs. To run it: POST /api/v1/admin/plugins/${plugin.key}/consent with ` +
            `{"sha256":"${version.sha256}"}`,
    )
  return version
}

const waitingWords = ({ waitsFor, sha256 }: Review): string =>
  `waits for consent, because it ${waitsFor.join(', ')}. Review it, and consent to its SHA-256 to run it: ${sha256}.`

/** The compiler finds a member that is left out: who signed it and where it comes from are part of what a user has agreed to. */
const versionOf = ({ id, version, sha256, manifest, signedBy, repository, installedAt }: VersionRow): PluginVersion => ({
  versionId: id,
  version,
  sha256,
  manifest,
  signedBy,
  repository,
  installedAt,
})

/** The plugin with another version. @param isSeen whether a person consents to it; otherwise it has no more rights than were granted */
function withVersion(plugin: InstalledPlugin, version: VersionRow, { isSeen }: { isSeen: boolean }): InstalledPlugin {
  const { manifest } = version
  const asked = requestedPermissions(manifest)
  // What was granted before there were records can be less than the manifest asks for, such as no defaults of hosts.
  const granted = isSeen || plugin.granted === null ? asked : grantedOf(asked, plugin.granted)
  return { ...plugin, ...versionOf(version), granted, dataVersion: manifest.dataVersion ?? 1 }
}

/** A rollback, or a reset, lifts the quarantine, so that an administrator can enable the plugin again. */
const calmState = (state: PluginState): PluginChange => (state === 'quarantined' ? { state: 'disabled' } : {})
