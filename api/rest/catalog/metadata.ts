import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { bulkIds, idIn, KINDS, reachOfKind } from '#api/rest/catalog/metadata-kind.ts'
import { prepareTitles, readFullSeries } from '#api/rest/catalog/series-metadata.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { LENIENT, Noun, Uuid } from '#core/foundation/schema.ts'
import { findOrigins } from '#core/matching/origins-query.ts'
import { bookLocksOf, bookMetadataOf } from '#core/metadata/book-metadata-schema.ts'
import { lockMetadata, patchMetadata, replaceMetadata } from '#core/metadata/edit-metadata.ts'
import { seriesLocksOf, seriesMetadataOf } from '#core/metadata/series-metadata-schema.ts'
import { getRecord } from '#core/metadata/visible-records-query.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<TemplateServices, 'rules'>
const endpoint = endpointOf<Services>()

/** Enough for summaries of 40,000 characters, people and 64 KB of custom metadata. */
const BODY_BYTES_MAX = 512 * 1024

const Outcome = Type.Object({ field: Type.String(), result: Type.String({ description: 'set, cleared or unchanged.' }) })
const BulkOutcome = Noun('BulkMetadataOutcome')({
  message: Type.String(),
  updatedCount: Type.Integer({ minimum: 0 }),
  items: Type.Array(Type.Object({ id: Uuid, outcomes: Type.Array(Outcome) })),
})

type ServiceCall = { services: Services; caller: Caller }

async function readMetadata(call: ServiceCall, kind: Kind, id: string, sources: boolean): Promise<unknown> {
  if (kind === 'series') return await readFullSeries(call, id, sources)
  const record = await getRecord(call.services.database, call.caller, 'book', id)
  return bookMetadataOf(id, record, sources ? await findOrigins(call.services.database, 'book', id, record) : undefined)
}

/** What a change answers: of a series only the fields. */
async function readChanged(call: ServiceCall, kind: Kind, id: string): Promise<unknown> {
  if (kind === 'book') return await readMetadata(call, kind, id, false)
  return seriesMetadataOf(id, await getRecord(call.services.database, call.caller, 'series', id))
}

async function readLocks({ services, caller }: ServiceCall, kind: Kind, id: string): Promise<unknown> {
  const record = await getRecord(services.database, caller, kind, id)
  return kind === 'book' ? bookLocksOf(record) : seriesLocksOf(record)
}

const reachOf = (kind: Kind) => reachOfKind(kind, 'metadata')

/** One change for many records. */
function bulkRoutes(kind: Kind) {
  const { many, noun, idsName, Patch, LocksPatch } = KINDS[kind]
  const { write } = reachOf(kind)
  const bulkPath = `/api/v1/${many}/bulk/metadata`
  const split = (body: unknown) => {
    const { [idsName]: ids = [], ...rest } = body as Record<string, string[]>
    return { ids, rest }
  }
  return [
    endpoint({
      name: `bulkPatch${noun}Metadata`,
      method: 'PATCH',
      path: bulkPath,
      summary: `Apply one metadata change to many ${many}`,
      tag: many,
      allow: write,
      body: Type.Object({ [idsName]: bulkIds(kind), ...Patch.properties }, { additionalProperties: false }),
      bodyBytesMax: BODY_BYTES_MAX,
      reply: BulkOutcome,
      run: async (call, { body }) => {
        const { ids, rest: patch } = split(body)
        if (kind === 'series') await prepareTitles(call, ids, patch)
        const items = await patchMetadata(call.services.database, call.caller, { kind, ids, patch })
        const updatedCount = items.filter(({ outcomes }) => outcomes.some(({ result }) => result === 'set' || result === 'cleared')).length
        return { message: `Changed ${updatedCount} of ${items.length} ${many}.`, updatedCount, items }
      },
    }),
    endpoint({
      name: `bulkPut${noun}MetadataLocks`,
      method: 'PUT',
      path: `${bulkPath}/locks`,
      summary: `Lock or unlock fields of many ${many}`,
      tag: many,
      allow: write,
      body: Type.Object({ [idsName]: bulkIds(kind), ...LocksPatch.properties }, LENIENT),
      reply: BulkOutcome,
      run: async (call, { body }) => {
        const { ids, rest: locks } = split(body)
        const items = await lockMetadata(call.services.database, call.caller, { kind, ids, locks })
        return { message: `Changed the locks of ${items.length} ${many}.`, updatedCount: items.length, items }
      },
    }),
  ]
}

/** The metadata of one record. */
function recordRoutes(kind: Kind) {
  const { many, noun, readSummary, Patch, Read, Changed } = KINDS[kind]
  const { path, params, read, write } = reachOf(kind)
  const change = { path, tag: many, allow: write, params, body: Patch, bodyBytesMax: BODY_BYTES_MAX, reply: Changed }
  return [
    endpoint({
      name: `get${noun}Metadata`,
      method: 'GET',
      path,
      summary: readSummary,
      tag: many,
      allow: read,
      params,
      reply: Read,
      query: Type.Object({
        sources: Type.Optional(Type.Boolean({ description: 'Also return the source of each field, and the plugins that gave some.' })),
      }),
      versionOf: (reply) => (reply as { updatedAt: string }).updatedAt,
      run: (call, { params, query }) => readMetadata(call, kind, idIn(kind, params), query.sources === true),
    }),
    endpoint({
      ...change,
      name: `patch${noun}Metadata`,
      method: 'PATCH',
      summary: `Change metadata of a ${kind}: an absent field is kept, null clears, a value is set and locked`,
      run: async (call, { params, body: patch }) => {
        const id = idIn(kind, params)
        if (kind === 'series') await prepareTitles(call, [id], patch)
        await patchMetadata(call.services.database, call.caller, { kind, ids: [id], patch })
        return await readChanged(call, kind, id)
      },
    }),
    endpoint({
      ...change,
      name: `put${noun}Metadata`,
      method: 'PUT',
      summary: `Replace the metadata of a ${kind}: absent fields are cleared`,
      run: async (call, { params, body: metadata }) => {
        const id = idIn(kind, params)
        if (kind === 'series') await prepareTitles(call, [id], metadata)
        await replaceMetadata(call.services.database, call.caller, { kind, id, metadata })
        return await readChanged(call, kind, id)
      },
    }),
  ]
}

/** The locks of one record: fields that machines may not change. */
function lockRoutes(kind: Kind) {
  const { many, noun, Locks, LocksPatch } = KINDS[kind]
  const { path, params, read, write } = reachOf(kind)
  const locks = { path: `${path}/locks`, tag: many, params, reply: Locks }
  return [
    endpoint({
      ...locks,
      name: `get${noun}MetadataLocks`,
      method: 'GET',
      summary: `Get the locks of a ${kind}: fields that only users may change`,
      allow: read,
      run: (call, { params }) => readLocks(call, kind, idIn(kind, params)),
    }),
    endpoint({
      ...locks,
      name: `put${noun}MetadataLocks`,
      method: 'PUT',
      summary: `Lock or unlock fields of a ${kind}; others keep their state`,
      allow: write,
      body: LocksPatch,
      run: async (call, { params, body }) => {
        const id = idIn(kind, params)
        await lockMetadata(call.services.database, call.caller, { kind, ids: [id], locks: body })
        return await readLocks(call, kind, id)
      },
    }),
  ]
}

/** Routes to read and change the metadata and locks of books and of series. */
export const metadataRoutes = (['book', 'series'] as const).flatMap((kind) => [
  ...bulkRoutes(kind),
  ...recordRoutes(kind),
  ...lockRoutes(kind),
])
