import Type from 'typebox'
import { failureMembers } from '#api/views/plugin-view.ts'
import type { searchResultView } from '#api/views/search-results.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import type { Application } from '#core/matching/application-store.ts'
import type { Applied } from '#core/matching/apply-proposal.ts'
import type { Matching } from '#core/matching/matching.ts'
import { FIELD_STATUSES, type FieldPreview } from '#core/matching/proposal.ts'
import type { ProviderFailure } from '#core/matching/provider-client.ts'
import { changedIn } from '#core/metadata/undo-change.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'

const Count = Type.Integer({ minimum: 0 })

export const Preview = Noun('MetadataPreview')({
  pluginId: Uuid,
  pluginName: Type.String(),
  externalId: Type.String(),
  externalUrl: Nullable(Type.String()),
  error: Nullable(Type.String({ description: 'Why the provider failed; there is no proposal then.' })),
  ...failureMembers,
  fields: Type.Array(
    Type.Object({
      field: Type.String(),
      currentValue: Type.Unknown(),
      proposedValue: Type.Unknown(),
      status: OneOf([...FIELD_STATUSES]),
      reason: Nullable(Type.String()),
    }),
  ),
  summary: Type.Object({ willApply: Count, locked: Count, noPermission: Count, unchanged: Count, notProvided: Count }),
})
export const SkippedField = Noun('SkippedField')({ field: Type.String(), reason: Type.String() })
export const Skipped = Type.Array(SkippedField)
const outcome = {
  success: Type.Boolean({ description: 'False if the provider failed; nothing was changed then.' }),
  message: Type.String(),
  appliedFields: Type.Array(Type.String()),
  skippedFields: Skipped,
  ...failureMembers,
  applicationId: Nullable(Uuid, { description: 'Id to undo the change; null if nothing was changed.' }),
}
export const ApplyReply = Noun('MetadataApplied')({
  ...outcome,
  dryRunReport: Nullable(
    Type.Object({ changes: Type.Array(Type.Object({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() })) }),
  ),
})
export const AutoMatchReply = Noun('AutoMatchOutcome')({
  ...outcome,
  externalUrl: Nullable(Type.String()),
  confidence: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  skippedReason: Nullable(Type.String({ description: 'Code for why nothing was matched.' })),
  matchedResult: Nullable(
    Type.Object({
      externalId: Type.String(),
      title: Type.String(),
      alternateTitles: Type.Array(Type.String()),
      year: Nullable(Type.Integer()),
      coverUrl: Nullable(Type.String()),
      relevanceScore: Nullable(Type.Number()),
      preview: Nullable(Type.Unknown()),
    }),
  ),
})
export const Enqueued = Noun('TasksEnqueued')({
  success: Type.Boolean(),
  message: Type.String(),
  tasksEnqueued: Count,
  taskIds: Type.Array(Uuid),
})
export const ApplicationRecord = Noun('MetadataApplication')({
  id: Uuid,
  pluginId: Nullable(Uuid),
  pluginKey: Type.String({ description: 'Identifier of the plugin.' }),
  pluginDisplayName: Nullable(Type.String({ description: 'Null if the plugin was uninstalled since.' })),
  externalId: Type.String(),
  appliedBy: Nullable(Uuid, { description: 'The user who applied it; null if a task did.' }),
  fields: Type.Array(Type.String()),
  createdAt: Timestamp,
  undoneAt: Nullable(Timestamp),
})

export const applicationView = (
  { id, pluginId, pluginKey, externalId, appliedBy, changes, createdAt, undoneAt }: Application,
  plugins: readonly InstalledPlugin[],
) => ({
  id,
  pluginId,
  pluginKey,
  externalId,
  appliedBy,
  pluginDisplayName: plugins.find((plugin) => plugin.id === pluginId)?.manifest.name ?? null,
  fields: [...changedIn(changes), ...(changes.coverId === null ? [] : ['cover'])],
  createdAt: createdAt.toISOString(),
  undoneAt: undoneAt?.toISOString() ?? null,
})
const fieldCount = (count: number) => `${count} ${count === 1 ? 'field' : 'fields'}`
/** What an undo did. A field that was changed since keeps its value. */
export function describeUndo(undone: number, left: number): string {
  const kept = left === 0 ? '' : `${fieldCount(left)} could not be restored completely; skippedFields says why.`
  return undone === 0 ? kept || 'There was nothing to restore.' : `Restored ${fieldCount(undone)}. ${kept}`.trim()
}
const failureView = (failure: ProviderFailure | null) => ({ code: failure?.code ?? null, callId: failure?.callId ?? null })
const appliedOf = (fields: readonly FieldPreview[]) => ({
  appliedFields: fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field),
  skippedFields: fields
    .filter(({ status }) => status !== 'will_apply')
    .map(({ field, reason }) => ({ field, reason: reason ?? 'The field already has this value.' })),
})

type Previewed = Awaited<ReturnType<Matching['preview']>>
type Matched = Awaited<ReturnType<Matching['autoMatch']>>

export function previewView({ provider, externalUrl, failure, fields }: Previewed, externalId: string) {
  const count = (status: FieldPreview['status']) => fields.filter((field) => field.status === status).length
  return {
    pluginId: provider.id,
    pluginName: provider.name,
    externalId,
    externalUrl,
    error: failure?.message ?? null,
    ...failureView(failure),
    fields,
    summary: {
      willApply: count('will_apply'),
      locked: count('locked'),
      noPermission: count('no_permission'),
      unchanged: count('unchanged'),
      notProvided: count('not_provided'),
    },
  }
}

export function appliedView({ success, message, applicationId, failure, fields }: Applied, dryRun: boolean) {
  const changes = fields
    .filter(({ status }) => status === 'will_apply')
    .map(({ field, currentValue, proposedValue }) => ({ field, before: currentValue, after: proposedValue }))
  return {
    success,
    message,
    applicationId,
    ...failureView(failure),
    ...appliedOf(fields),
    dryRunReport: dryRun && success ? { changes } : null,
  }
}

export const autoMatchView = (
  { success, message, applicationId, externalUrl, confidence, skipped, failure, fields }: Matched,
  matchedResult: ReturnType<typeof searchResultView> | null,
) => ({
  success,
  message,
  applicationId,
  externalUrl,
  confidence,
  skippedReason: skipped,
  ...failureView(failure),
  ...appliedOf(fields),
  matchedResult,
})

export const enqueued = (taskIds: string[], what: string) => ({
  success: true,
  tasksEnqueued: taskIds.length,
  taskIds,
  message: `${what} will be matched in the background.`,
})
