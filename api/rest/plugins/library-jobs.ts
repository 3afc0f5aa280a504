import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { type Call, endpointOf, madeAt } from '#api/http/endpoint.ts'
import { SkippedField } from '#api/views/match-view.ts'
import { pictureAddress } from '#api/views/plugin-pictures.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { NameText, Nullable, TimeZone, Uuid } from '#core/foundation/schema.ts'
import { FIELD_GROUPS, JobConfig, LibraryJob } from '#core/matching/library-job.ts'
import { COVER } from '#core/matching/proposal.ts'

type Services = Pick<DataServices, 'database'> & Pick<PluginServices, 'libraryJobs' | 'pluginPictures' | 'plugins'>
const endpoint = endpointOf<Services>()

const tag = 'libraries'
const LibraryId = Type.Object({ libraryId: Uuid })
const JobId = Type.Object({ libraryId: Uuid, jobId: Uuid })
const Count = Type.Integer({ minimum: 0 })
/** Each series of a sample costs requests to a service while the user waits. */
const SAMPLE_MAX = 20
const SAMPLE = 5

const name = Type.Optional(Nullable(NameText({ minLength: 1, maxLength: 100 })))
const enabled = Type.Optional(Type.Boolean())
const cronSchedule = Type.Optional(
  Nullable(
    Type.String({ maxLength: 100, description: 'Five fields: minute, hour, day, month, weekday. Null: only when started manually.' }),
  ),
)
const timezone = Type.Optional(Nullable(TimeZone({ description: 'Such as Europe/Berlin; default UTC.' })))

/** @throws not_found */
const libraryOf = async (call: Call<Services>, libraryId: string): Promise<string> =>
  (await getLibraryName(call.services.database, call.caller, libraryId)).id

export const libraryJobRoutes = [
  endpoint({
    name: 'listLibraryJobFieldGroups',
    method: 'GET',
    path: '/api/v1/library-jobs/metadata-refresh/field-groups',
    summary: 'List the groups of fields that a job may refresh',
    tag,
    allow: { who: 'libraries-read' },
    reply: Type.Array(Type.Object({ id: Type.String(), label: Type.String(), fields: Type.Array(Type.String()) })),
    run: async () => FIELD_GROUPS.map(({ id, label, fields }) => ({ id, label, fields: [...fields] })),
  }),
  endpoint({
    name: 'listLibraryJobs',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/jobs',
    summary: 'List the jobs of a library',
    tag,
    allow: { who: 'libraries-write' },
    params: LibraryId,
    reply: Type.Object({ jobs: Type.Array(LibraryJob) }),
    run: async (call, { params }) => ({
      jobs: await call.services.libraryJobs.list(await libraryOf(call, params.libraryId), call.caller),
    }),
  }),
  endpoint({
    name: 'createLibraryJob',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/jobs',
    summary: 'Create a job that refreshes metadata on a schedule or when started',
    tag,
    allow: { who: 'libraries-write' },
    status: 201,
    params: LibraryId,
    body: Type.Object({ name, enabled, cronSchedule, timezone, config: JobConfig }),
    reply: LibraryJob,
    run: async (call, { params, body }) => {
      const job = await call.services.libraryJobs.add(await libraryOf(call, params.libraryId), body)
      return madeAt(call, `/api/v1/libraries/${params.libraryId}/jobs`, job)
    },
  }),
  endpoint({
    name: 'getLibraryJob',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/jobs/:jobId',
    summary: 'Get a job',
    tag,
    allow: { who: 'libraries-write' },
    params: JobId,
    reply: LibraryJob,
    run: async (call, { params }) =>
      await call.services.libraryJobs.get(await libraryOf(call, params.libraryId), params.jobId, call.caller),
  }),
  endpoint({
    name: 'patchLibraryJob',
    method: 'PATCH',
    path: '/api/v1/libraries/:libraryId/jobs/:jobId',
    summary: 'Change a job',
    tag,
    allow: { who: 'libraries-write' },
    params: JobId,
    body: Type.Object({ name, enabled, cronSchedule, timezone, config: Type.Optional(JobConfig) }),
    reply: LibraryJob,
    run: async (call, { params, body }) =>
      await call.services.libraryJobs.edit(await libraryOf(call, params.libraryId), params.jobId, body, call.caller),
  }),
  endpoint({
    name: 'deleteLibraryJob',
    method: 'DELETE',
    path: '/api/v1/libraries/:libraryId/jobs/:jobId',
    summary: 'Delete a job; stops it if it is running',
    tag,
    allow: { who: 'libraries-write' },
    status: 204,
    params: JobId,
    run: async (call, { params }) => await call.services.libraryJobs.remove(await libraryOf(call, params.libraryId), params.jobId),
  }),
  endpoint({
    name: 'runLibraryJob',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/jobs/:jobId/run-now',
    summary: 'Start a job now',
    tag,
    allow: { who: 'libraries-write' },
    status: 202,
    params: JobId,
    reply: Type.Object({ taskId: Uuid }),
    run: async (call, { params }) => ({
      taskId: await call.services.libraryJobs.runNow(await libraryOf(call, params.libraryId), params.jobId),
    }),
  }),
  endpoint({
    name: 'dryRunLibraryJob',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/jobs/:jobId/dry-run',
    summary: 'Preview what a job would change, for some series; changes nothing',
    tag,
    allow: { who: 'libraries-write' },
    params: JobId,
    bodyOptional: true,
    body: Type.Object({
      sampleSize: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: SAMPLE_MAX }))),
      configOverride: Type.Optional(Nullable(JobConfig)),
    }),
    reply: Type.Object({
      totalEligible: Count,
      estSkippedNoId: Count,
      estSkippedRecentlySynced: Count,
      planFailure: Nullable(Type.String({ description: 'Why the job cannot run at all.' })),
      sample: Type.Array(
        Type.Object({
          seriesId: Uuid,
          seriesName: Type.String(),
          changes: Type.Record(Type.String(), Type.Object({ before: Type.Unknown(), after: Type.Unknown() })),
          skipped: Type.Array(SkippedField),
        }),
      ),
    }),
    run: async (call, { params, body }) => {
      const { pluginId, sample, ...rest } = await call.services.libraryJobs.dryRun(await libraryOf(call, params.libraryId), params.jobId, {
        by: call.caller,
        sampleSize: body.sampleSize ?? SAMPLE,
        config: body.configOverride ?? undefined,
      })
      if (pluginId === null) return { sample, ...rest }
      const plugin = await call.services.plugins.get(pluginId)
      // Readers load pictures from this server only.
      const shown = sample.map(({ changes: { [COVER]: cover, ...changes }, ...delta }) => ({
        ...delta,
        changes: cover ? { ...changes, [COVER]: { ...cover, after: pictureAddress(call, plugin, cover.after as string | null) } } : changes,
      }))
      return { ...rest, sample: shown }
    },
  }),
]
