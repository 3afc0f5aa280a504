import Type from 'typebox'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { describeDifference, describeRecord } from '#plugins/consent/record-lines.ts'
import type { Review } from '#plugins/host/consent-review.ts'
import { describeRunning, type InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { isReservedId } from '#plugins/packages/similar-ids.ts'

const Value = Type.Unknown({ description: 'Any JSON.' })

/** One difference of two records. */
export const RecordDifference = Noun('RecordDifference')({
  path: Type.String({ description: 'JSON pointer. An entry of a list has its host or its own text as its last part.' }),
  kind: OneOf(['added', 'removed', 'changed']),
  before: Type.Optional(Value),
  after: Type.Optional(Value),
})

/** What differs, for a person who agreed before. */
export const DifferenceLines = Type.Array(Type.String(), {
  description:
    'The differences in lines of less than 80 columns: + begins what is new, and - what is no longer so; empty if nothing differs.',
})

/** What the command line prints of a stored package. No other than the server's own has a reserved id: its installation compares the bytes. */
export const linesOf = (record: Parameters<typeof describeRecord>[0], { summary }: Pick<Manifest, 'summary'>) =>
  describeRecord(record, { summary, isBundled: isReservedId(record.manifest.id) })

/** Everything that a person needs to consent to one package; no member describes another package, except `agreed`. */
export const PluginReview = Noun('PluginReview')({
  pluginId: Uuid,
  name: Type.String({ description: 'Identifier of the plugin.' }),
  version: Type.String(),
  sha256: Type.String({ description: 'SHA-256 of the package. Send it to consent to exactly what this answer shows.' }),
  running: Type.Boolean({ description: 'Whether this package runs now.' }),
  waitsFor: Type.Array(Type.String(), { description: 'What needs consent before this package runs; empty if nothing does.' }),
  record: Type.Object(
    {
      format: Type.Literal(1),
      manifest: Type.Record(Type.String(), Value, {
        description:
          'The manifest with its defaults, without version and summary: hosts, credentials, settings, limits and all else that a plugin can cause.',
      }),
      signedBy: Type.Array(Type.String(), { description: 'Ed25519 keys, base64.' }),
      repository: Nullable(Type.String({ description: 'Address of the repository that it came from; null for a file.' })),
    },
    { description: 'Everything that this package can cause. Consent covers all of it.' },
  ),
  recordHash: Type.String({ description: 'SHA-256 of the record as canonical JSON.' }),
  lines: Type.Array(Type.String(), {
    description:
      'The record in lines of less than 80 columns, as the command line prints it. Lines that begin with > are words of its author.',
  }),
  agreed: Nullable(
    Type.Object({
      sha256: Type.String({ description: 'SHA-256 of the package that was reviewed.' }),
      recordHash: Type.String(),
      userId: Nullable(Uuid, { description: 'Who consented; null for a command on the server.' }),
      consentedAt: Nullable(Timestamp),
      beforeRecords: Type.Boolean({
        description:
          'Whether the plugin was agreed to before records were kept. Its record is then made from its manifest; consent once to confirm it.',
      }),
    }),
    { description: 'What was agreed to; null before the first consent.' },
  ),
  differences: Type.Array(RecordDifference, { description: 'From what was agreed to the record of this package.' }),
  differenceLines: DifferenceLines,
  rolledBackAt: Nullable(Timestamp, { description: 'When an earlier version replaced this one; null when that did not happen.' }),
  revoked: Nullable(Type.String({ description: 'Why the package is revoked and must not run.' })),
})

/** @param version the stored version that is reviewed */
export function pluginReviewView(
  { id, key, runningVersionId }: InstalledPlugin,
  { version, sha256, record, recordHash, agreed, differences, waitsFor }: Review,
  stored: { id: string; rolledBackAt: Date | null; revoked: string | null; manifest: Manifest },
) {
  return {
    pluginId: id,
    name: key,
    version,
    sha256,
    running: stored.id === runningVersionId,
    waitsFor,
    record,
    recordHash,
    lines: linesOf(record, stored.manifest),
    differences,
    differenceLines: agreed === null ? [] : describeDifference(agreed.record, record),
    agreed: agreed && {
      sha256: agreed.sha256,
      recordHash: agreed.recordHash,
      userId: agreed.userId,
      consentedAt: agreed.consentedAt?.toISOString() ?? null,
      beforeRecords: agreed.consentedAt === null,
    },
    rolledBackAt: stored.rolledBackAt?.toISOString() ?? null,
    revoked: stored.revoked,
  }
}

/** The review of a package that was just stored. */
export const newReviewView = ({ plugin, offered, review }: { plugin: InstalledPlugin; offered: InstalledPlugin; review: Review }) =>
  pluginReviewView(plugin, review, { id: offered.versionId, rolledBackAt: null, revoked: null, manifest: offered.manifest })

/** What became of a new package, for people. */
export const installationMessage = (name: string, { plugin, version, waitsFor }: Pick<Installation, 'plugin' | 'version' | 'waitsFor'>) =>
  `${name} ${version} ${waitsFor.length === 0 ? describeRunning(plugin) : `waits for consent, because it ${waitsFor.join(', ')}`}.`
