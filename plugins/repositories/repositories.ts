import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { SingleFlight } from '#core/database/single-flight.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import type { LocalServices } from '#core/settings/local-hosts.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import type { PackageOrigin } from '#plugins/packages/identity.ts'
import { readPackageBeside } from '#plugins/packages/plugin-package.ts'
import { type AvailablePlugin, type AvailableQuery, chooseVersion, listAvailable } from '#plugins/repositories/available.ts'
import type { Download } from '#plugins/repositories/download.ts'
import { checkEntry } from '#plugins/repositories/index-entry.ts'
import {
  INDEX_BYTES_MAX,
  INDEX_NAME,
  type IndexPlugin,
  REVOKED_RANGES_MAX,
  SIGNATURE_BYTES_MAX,
  SIGNATURE_NAME,
} from '#plugins/repositories/index-file.ts'
import { type ReadIndex, readIndexBeside } from '#plugins/repositories/index-reader.ts'
import {
  addRepository,
  addRevocations,
  countRevocations,
  deleteRepository,
  findDeletedIndex,
  findOffering,
  findOftenRevoked,
  findRepository,
  listOffered,
  listRepositories,
  lockIndexed,
  type RepositoryRow,
  recordIndex,
  recordRepositoryError,
  setRepositoryEnabled,
} from '#plugins/repositories/plugin-repository-store.ts'
import { repositoryFolder } from '#plugins/repositories/repository-url.ts'
import { listRevoked, type RevokedVersion, revocationOf } from '#plugins/repositories/revocations.ts'

export type Repository = RepositoryRow

/** A repository's description of itself, for a person to check before trusting it. */
interface RepositoryOffer {
  url: string
  name: string
  /** Ed25519, base64. */
  publicKey: string
  /** Of the key, to compare with what its publisher has published elsewhere. */
  fingerprint: string
  plugins: number
}

/** Installs a package, which must be the `expected` one. Its result is that of {@link Repositories.install}. */
type Install<Installed> = (
  bytes: Buffer,
  options: PackageOrigin & { userId: string | null; expected: { id: string; version: string; sha256: string } },
) => Promise<Installed>

/** The plugin to install. */
interface Wanted extends Omit<PackageOrigin, 'repository'> {
  repositoryId: string
  /** The plugin's own identifier. */
  pluginId: string
  /** Default: the newest that can be installed. */
  version?: string | undefined
  /** Of the only package that may be installed; default any. */
  sha256?: string | undefined
  /** The administrator who installs it. */
  userId: string | null
}

/** Each has an index of up to 5 MB, and the database searches all of them for a list. */
const REPOSITORIES_MAX = 20
/** They are never deleted; no publisher needs so many. */
const REVOCATIONS_MAX = 50_000
const ERROR_LENGTH_MAX = 1_000

interface RepositoriesOptions<Installed> {
  database: Knex
  log: Log
  download: Download
  /** Local hosts that are allowed for repositories besides the public internet; default none. */
  local?: LocalServices | undefined
  /** Version of this server, which plugins may require. */
  serverVersion: string
  install: Install<Installed>
  /** Called with stored versions after new revocations, and with running ones before each round; must stop the running ones. */
  onRevoked: (revoked: RevokedVersion[]) => unknown
  /** Those of the server; only tests and commands have none. */
  jobs?: RegularJobs
  timing?: { firstMs: number; everyMs: number }
}

/** Plugin repositories: downloads their indexes, accepts those signed with the pinned key, and installs from them. */
export class Repositories<Installed> {
  readonly #options: RepositoriesOptions<Installed>
  readonly #ended = new AbortController()
  /** One refresh at a time per repository; concurrent callers share its result. */
  readonly #refreshing = new SingleFlight()
  #refreshingAll: ReturnType<RegularJobs['start']> | null = null
  #round: Promise<void> = Promise.resolve()

  constructor(options: RepositoriesOptions<Installed>) {
    this.#options = options
  }

  list(): Promise<Repository[]> {
    return listRepositories(this.#options.database)
  }

  /** Downloads the index of an unknown repository, and stores nothing. @throws invalid_value, conflict, unavailable */
  async preview(url: string): Promise<RepositoryOffer> {
    const folder = repositoryFolder(url, this.#options.local)
    const index = await this.#fetchIndex(folder, null)
    await checkKnown(this.#options.database, folder, index)
    const { name, publicKey, plugins } = index
    return { url: folder, name, publicKey, fingerprint: fingerprintOf(publicKey), plugins }
  }

  /** Adds a repository and pins its key. @throws invalid_value, conflict, unavailable */
  async add({ url, publicKey }: { url: string; publicKey: string }): Promise<Repository> {
    const folder = repositoryFolder(url, this.#options.local)
    const index = await this.#fetchIndex(folder, publicKey)
    const { id, hasNewRevocations } = await this.#options.database.transaction(async (trx) => {
      const added = await addRepository(trx, { url: folder, name: index.name, publicKey, repositoriesMax: REPOSITORIES_MAX })
      if (added === null)
        return refuse('conflict', `The repository ${folder} exists already, or the limit of ${REPOSITORIES_MAX} repositories is reached.`)
      await checkKnown(trx, folder, index)
      return { id: added, hasNewRevocations: await this.#keep(trx, added, index) }
    })
    if (hasNewRevocations) await this.#reportRevoked()
    return await this.get(id)
  }

  /** A disabled repository is neither refreshed nor offered; its revocations stay. @throws not_found */
  async setEnabled(id: string, enabled: boolean): Promise<Repository> {
    if (!(await setRepositoryEnabled(this.#options.database, id, enabled))) absent(id)
    return await this.get(id)
  }

  /** Its revocations, plugins installed from it and the sequence of its newest index stay. @throws not_found */
  async remove(id: string): Promise<void> {
    if (!(await deleteRepository(this.#options.database, id))) absent(id)
  }

  /** Downloads its index. On failure the last one stays, and `error` says why. @throws not_found, conflict when it is disabled */
  async refresh(id: string): Promise<Repository> {
    const repository = await this.get(id)
    if (!repository.enabled) refuse('conflict', `The plugin repository ${repository.url} is disabled; enable it first.`)
    return await this.#refreshOnce(repository)
  }

  /** The plugins of the enabled repositories, by name. */
  listAvailable(query?: AvailableQuery): Promise<{ plugins: AvailablePlugin[]; total: number }> {
    return listAvailable(this.#options.database, { serverVersion: this.#options.serverVersion, now: new Date() }, query)
  }

  /**
   * Downloads and installs a package.
   * @throws not_found, conflict for a version that cannot be installed or a package that differs from the index, unavailable
   */
  async install({ repositoryId, pluginId, version, sha256: wanted, ...confirmed }: Wanted): Promise<Installed> {
    const { database, serverVersion, download, install } = this.#options
    const repository = (await findOffering<IndexPlugin>(database, repositoryId, pluginId)) ?? absent(repositoryId)
    const { plugin, chosen } = await chooseVersion(database, repository, { pluginId, version, serverVersion, now: new Date() })
    if (wanted !== undefined && wanted !== chosen.sha256)
      refuse(
        'conflict',
        `${pluginId} ${chosen.version} has the SHA-256 ${chosen.sha256}, not ${wanted}. It was not installed. Review it, and give its SHA-256.`,
      )
    const from = new URL(chosen.url, repository.url)
    const bytes = await download(from, {
      bytesMax: chosen.size,
      toOtherHosts: true,
      isAtHome: from.origin === new URL(repository.url).origin,
      signal: this.#ended.signal,
    })
    checkPackage(bytes, { ...chosen, name: `${pluginId} ${chosen.version}` })
    checkEntry((await readPackageBeside(bytes)).manifest, { plugin, version: chosen })
    const { version: chosenVersion, sha256 } = chosen
    return await install(bytes, { ...confirmed, repository: repository.url, expected: { id: pluginId, version: chosenVersion, sha256 } })
  }

  /** Starts refreshing indexes periodically. Call once. */
  start(): void {
    const { log, jobs = new RegularJobs(log), timing } = this.#options
    if (this.#refreshingAll !== null) return
    this.#round = this.#endRevoked().catch((error: unknown) => log.error({ err: error }, 'Revoked plugins could not be checked'))
    this.#refreshingAll = jobs.start('refresh plugin repositories', () => this.#refreshAll(), timing)
  }

  /** Cancels running downloads. */
  async close(): Promise<void> {
    this.#ended.abort()
    await Promise.all([this.#round, this.#refreshingAll?.stop()])
    await this.#refreshing.close()
  }

  /** @throws not_found */
  async get(id: string): Promise<Repository> {
    return (await findRepository(this.#options.database, id)) ?? absent(id)
  }

  /** @param publicKey the key that must have signed it; null when none is trusted yet */
  async #fetchIndex(folder: string, publicKey: string | null): Promise<ReadIndex> {
    const from = { toOtherHosts: false, isAtHome: true, signal: this.#ended.signal }
    const bytes = await this.#options.download(new URL(INDEX_NAME, folder), { ...from, bytesMax: INDEX_BYTES_MAX })
    const signature = await this.#options.download(new URL(SIGNATURE_NAME, folder), { ...from, bytesMax: SIGNATURE_BYTES_MAX })
    const index = await readIndexBeside({ bytes, signature, publicKey }, this.#ended.signal)
    checkPlace(index, folder)
    return index
  }

  /** Stores an index in the transaction that locks its repository. Returns whether it has new revocations. */
  async #keep(trx: Knex, id: string, index: ReadIndex): Promise<boolean> {
    const { name, sequence, expires, text } = index
    // What it offers now, or offered until now.
    const revoked = index.revoked.map(revocationOf)
    const offered = await listOffered(trx, id, revoked)
    await recordIndex(trx, id, { name, sequence, expiresAt: new Date(expires), text })
    const added = await addRevocations(trx, id, [...offered, ...(await listOffered(trx, id, revoked))])
    if (added > 0 && (await countRevocations(trx, id)) > REVOCATIONS_MAX)
      refuse('invalid_value', `This repository has revoked more than ${REVOCATIONS_MAX} versions.`)
    const often = added > 0 ? await findOftenRevoked(trx, id, REVOKED_RANGES_MAX) : null
    if (often !== null)
      refuse('invalid_value', `With the earlier ones this repository has revoked more than ${REVOKED_RANGES_MAX} ranges of ${often}.`)
    return added > 0
  }

  async #reportRevoked(): Promise<void> {
    const revoked = await listRevoked(this.#options.database)
    if (revoked.length === 0) return
    this.#options.log.warn({ plugins: revoked.map(({ key, version }) => `${key} ${version}`) }, 'Stored plugin versions were revoked')
    await this.#options.onRevoked(revoked)
  }

  async #fetchNewer({ id, url, publicKey }: Repository): Promise<void> {
    const index = await this.#fetchIndex(url, publicKey)
    const hasNewRevocations = await this.#options.database.transaction(async (trx) => {
      // The repository may have been deleted meanwhile.
      const known = await lockIndexed(trx, id, index.text)
      if (known === null) return false
      checkSequence(known, index)
      return await this.#keep(trx, id, index)
    })
    if (hasNewRevocations) await this.#reportRevoked()
  }

  async #refresh(repository: Repository): Promise<Repository> {
    const { id, url } = repository
    try {
      await this.#fetchNewer(repository)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (!this.#ended.signal.aborted) {
        this.#options.log.warn({ repository: url, reason: error.message }, 'A plugin repository could not be refreshed')
        await recordRepositoryError(this.#options.database, id, error.message.slice(0, ERROR_LENGTH_MAX))
      }
    }
    return await this.get(id)
  }

  #refreshOnce(repository: Repository): Promise<Repository> {
    return this.#refreshing.join(repository.id, undefined, () => this.#refresh(repository))
  }

  /** Stops running revoked versions: a server may have crashed between a revocation and its effect, or a version may have been started meanwhile. */
  async #endRevoked(): Promise<void> {
    const running = (await listRevoked(this.#options.database)).filter((one) => one.running)
    if (running.length > 0) await this.#options.onRevoked(running)
  }

  async #refreshAll(): Promise<void> {
    await this.#endRevoked()
    for (const repository of (await listRepositories(this.#options.database)).filter(({ enabled }) => enabled)) {
      if (this.#ended.signal.aborted) return
      await this.#refreshOnce(repository).catch((error: unknown) =>
        this.#options.log.error({ repository: repository.url, err: error }, 'A plugin repository could not be refreshed'),
      )
    }
  }
}

function absent(id: string): never {
  return refuse('not_found', `There is no plugin repository ${id}.`)
}

/** @throws conflict when the package differs from the index */
function checkPackage(bytes: Buffer, { name, size, sha256 }: { name: string; size: number; sha256: string }): void {
  if (bytes.length !== size)
    refuse('conflict', `The package of ${name} has ${bytes.length} bytes, but the index lists ${size}. It was not installed.`)
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    refuse('conflict', `The package of ${name} differs from the index of the repository. It was not installed.`)
}

/** One key may sign several folders, and an attacker who controls one could serve the index of another there. */
function checkPlace(index: ReadIndex, folder: string): void {
  if (index.url !== folder) refuse('invalid_value', `${folder} contains the index of another repository, ${index.url}.`)
}

/** @throws conflict when a repository that was removed comes back with another key or an older index */
async function checkKnown(database: Knex, url: string, index: ReadIndex): Promise<void> {
  const known = await findDeletedIndex(database, { url, text: index.text })
  if (known === null) return
  if (known.publicKey !== index.publicKey)
    refuse(
      'conflict',
      `${url} is signed with ${fingerprintOf(index.publicKey)}, but was signed with ${fingerprintOf(known.publicKey)} when it was removed here. ` +
        'Ask its publisher: a repository that changes its key must move to another address.',
    )
  checkSequence({ url, ...known }, index)
}

/** @throws conflict for an index that is older than the stored one, or a different one with the same number */
function checkSequence({ url, sequence, isSame }: { url: string; sequence: number; isSame: boolean }, index: ReadIndex): void {
  if (index.sequence < sequence)
    refuse(
      'conflict',
      `${url} has index ${index.sequence}, but index ${sequence} was seen before. An older index is not accepted: its publisher must issue a newer one.`,
    )
  if (index.sequence === sequence && !isSame)
    refuse('conflict', `${url} has a different index ${sequence} than before. A changed index must have a higher sequence.`)
}
