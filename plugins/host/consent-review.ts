import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { briefText, quotedText } from '#core/foundation/stranger-text.ts'
import { type Consent, findConsent } from '#plugins/consent/consent-store.ts'
import { type ConsentDifference, differencesOf } from '#plugins/consent/differences.ts'
import { type ConsentRecord, consentRecordOf, recordHash } from '#plugins/consent/record.ts'
import { phrasesOf } from '#plugins/consent/record-lines.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { VersionRow } from '#plugins/host/plugin-store.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readConfig } from '#plugins/packages/plugin-config.ts'

/** A package: an installed version, or a file. */
interface ReviewedPackage {
  version: string
  sha256: string
  manifest: Manifest
  record: ConsentRecord
}

export interface JudgedVersion {
  key: string
  version: string
  sha256: string
  /** Where it came from. */
  repository?: string | null | undefined
}

/** Why a version is revoked; null when it is not. */
export type RevocationOf = (version: JudgedVersion) => Promise<string | null>

/** All that a person needs to consent to exactly one package. */
export interface Review {
  version: string
  /** Of the package: consent applies to this hash. */
  sha256: string
  record: ConsentRecord
  recordHash: string
  /** What the plugin runs with; null before the first consent. */
  agreed: Consent | null
  /** From what was agreed to what this package asks for; none before the first consent. */
  differences: ConsentDifference[]
  /** What an administrator must consent to or change before this version runs; empty when nothing. */
  waitsFor: string[]
}

/**
 * What the plugin may do now. One that ran before there were records keeps running: its record is made from its manifest, and its review says so.
 */
export async function findAgreed(database: Knex, plugin: InstalledPlugin | null): Promise<Consent | null> {
  if (plugin === null) return null
  const stored = await findConsent(database, plugin.id)
  if (stored !== null || plugin.runningVersionId === null) return stored
  const record = consentRecordOf(plugin)
  return { record, recordHash: recordHash(record), sha256: plugin.sha256, userId: null, consentedAt: null }
}

/** Compares a package with what was agreed. @param config of the plugin */
export function reviewOf(offered: ReviewedPackage, agreed: Consent | null, config: Record<string, unknown> = {}): Review {
  const { record } = offered
  const differences = agreed === null ? [] : differencesOf(agreed.record, record)
  const problem = configurationProblem(offered.manifest, config)
  return {
    version: offered.version,
    sha256: offered.sha256,
    record,
    recordHash: recordHash(record),
    agreed,
    differences,
    waitsFor: agreed === null ? ['runs for the first time'] : [...inWords(agreed.record, record, differences), ...problem],
  }
}

/** Compares a stored version with what its plugin may do now. */
export const reviewStored = async (database: Knex, plugin: InstalledPlugin, version: VersionRow): Promise<Review> =>
  reviewOf({ ...version, record: consentRecordOf(version) }, await findAgreed(database, plugin), plugin.config)

/** The differences in words. Whatever no words show, such as another order, waits all the same. */
function inWords(before: ConsentRecord, after: ConsentRecord, differences: readonly ConsentDifference[]): string[] {
  if (differences.length === 0) return []
  const phrases = phrasesOf(before, after)
  return phrases.length > 0 ? phrases : [`differs in ${briefText(differences.map(({ path }) => path).join(', '))}`]
}

/**
 * The version with this hash, which a consent may be for: the newest one, or one that is older than the running one, to which a person goes back.
 * @param versions the newest first
 * @throws conflict when it is not stored, is revoked, or another one that may run was stored after it, which is to be reviewed then
 */
export async function getForConsent(
  { id, key, runningVersionId }: Pick<InstalledPlugin, 'id' | 'key' | 'runningVersionId'>,
  versions: readonly VersionRow[],
  sha256: string,
  revocationOf: RevocationOf,
): Promise<VersionRow> {
  const where = `GET /api/v1/admin/plugins/${id}/review, or plugin review on the command line`
  const index = versions.findIndex((one) => one.sha256 === sha256)
  const version = versions[index]
  if (version === undefined)
    return refuse(
      'conflict',
      `${sha256} is not a stored package of ${key}. Review the plugin again (${where}), and consent to what that shows.`,
    )
  const reason = await revocationOf({ key, ...version })
  if (reason !== null)
    refuse('conflict', `${key} ${version.version} is revoked and must not run. Its repository says: ${quotedText(reason)}`)
  if (versions.slice(0, index).some((newer) => newer.id === runningVersionId)) return version
  for (const newer of versions.slice(0, index))
    if ((await revocationOf({ key, ...newer })) === null)
      refuse(
        'conflict',
        `${key} ${newer.version} (${newer.sha256}) was stored after ${version.version}. Review that version (${where}), and consent to its SHA-256.`,
      )
  return version
}

/** Why a version would have to wait although everything in it was agreed to. */
export function configurationProblem(manifest: Manifest, config: Record<string, unknown>): string[] {
  try {
    readConfig(manifest.config, config)
    return []
  } catch (error) {
    return [`needs another configuration: ${(error as Error).message}`]
  }
}
