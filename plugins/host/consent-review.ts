import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import { type Consent, findConsent } from '#plugins/consent/consent-store.ts'
import { type Difference, differencesOf } from '#plugins/consent/differences.ts'
import { type ConsentRecord, recordHash, recordOf } from '#plugins/consent/record.ts'
import { phrasesOf } from '#plugins/consent/record-lines.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { VersionRow } from '#plugins/host/plugin-store.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readConfig } from '#plugins/packages/plugin-config.ts'

/** A package: an installed version, or a file. */
interface ReviewedPackage {
  version: string
  sha256: string
  manifest: unknown
  signedBy: readonly string[]
  repository: string | null
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
  differences: Difference[]
  /** What an administrator must consent to or change before this version runs; empty when nothing. */
  waitsFor: string[]
}

export const recordOfPackage = ({
  manifest,
  signedBy,
  repository,
}: Pick<ReviewedPackage, 'manifest' | 'signedBy' | 'repository'>): ConsentRecord =>
  recordOf({ manifest: manifest as Manifest, signedBy, repository })

/**
 * What the plugin may do now. One that ran before there were records keeps running: its record is made from its manifest, and its review says so.
 */
export async function findAgreed(database: Knex, plugin: InstalledPlugin | null): Promise<Consent | null> {
  if (plugin === null) return null
  const stored = await findConsent(database, plugin.id)
  if (stored !== null || plugin.runningVersionId === null) return stored
  const record = recordOfPackage(plugin)
  return { record, recordHash: recordHash(record), sha256: plugin.sha256, userId: null, consentedAt: null }
}

/** Compares a package with what was agreed. @param config of the plugin */
export function reviewOf(offered: ReviewedPackage, agreed: Consent | null, config: Record<string, unknown> = {}): Review {
  const record = recordOfPackage(offered)
  const differences = agreed === null ? [] : differencesOf(agreed.record, record)
  const problem = configurationProblem(offered.manifest as Manifest, config)
  return {
    ...{ version: offered.version, sha256: offered.sha256, record, recordHash: recordHash(record), agreed, differences },
    waitsFor: agreed === null ? ['runs for the first time'] : [...inWords(agreed.record, record, differences), ...problem],
  }
}

/** The differences in words. Whatever no words show, such as another order, waits all the same. */
function inWords(before: ConsentRecord, after: ConsentRecord, differences: readonly Difference[]): string[] {
  if (differences.length === 0) return []
  const phrases = phrasesOf(before, after)
  return phrases.length > 0 ? phrases : [`differs in ${briefText(differences.map(({ path }) => path).join(', '))}`]
}

/**
 * The version with this hash, which a consent may be for.
 * @param versions the newest first
 * @throws conflict when it is not stored, is revoked, or is older than another version that may run, which is to be reviewed then; the previous version, to
 * which a person may go back with its rights, is excepted
 */
export async function getNewest(
  { key, previousVersionId }: Pick<InstalledPlugin, 'key' | 'previousVersionId'>,
  versions: readonly VersionRow[],
  sha256: string,
  revocationOf: RevocationOf,
): Promise<VersionRow> {
  const version = versions.find((one) => one.sha256 === sha256)
  if (version === undefined)
    return refuse('conflict', `${sha256} is not a stored package of ${key}. Review the plugin again, and consent to what that shows.`)
  const reason = await revocationOf({ key, ...version })
  if (reason !== null) refuse('conflict', `${key} ${version.version} is revoked and must not run: ${reason}`)
  if (version.id === previousVersionId) return version
  for (const newer of versions.slice(0, versions.indexOf(version)))
    if ((await revocationOf({ key, ...newer })) === null)
      refuse(
        'conflict',
        `${key} ${newer.version} (${newer.sha256}) was stored after ${version.version}. Review that version, and consent to its SHA-256.`,
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
