import Type, { type Static, type TObject, type TSchema } from 'typebox'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { LENIENT, Noun, Uuid } from '#core/foundation/schema.ts'

/** Enough for summaries of 40,000 characters, people and 64 KB of custom metadata. */
const BODY_BYTES_MAX = 512 * 1024

const Outcome = Type.Object({ field: Type.String(), result: Type.String({ description: 'set, cleared or unchanged.' }) })
const BulkOutcome = Noun('BulkMetadataOutcome')({
  message: Type.String(),
  updatedCount: Type.Integer({ minimum: 0 }),
  items: Type.Array(Type.Object({ id: Uuid, outcomes: Type.Array(Outcome) })),
})
type Outcomes = Static<typeof BulkOutcome>['items']

/** How the metadata routes of books and series differ. Their schemas limit patches and locks. */
interface MetadataKind<Services> {
  /** The kind, in addresses and sentences. */
  many: 'books' | 'series'
  one: 'book' | 'series'
  bulkMax: number
  Patch: TObject
  LocksPatch: TObject
  Locks: TSchema
  /** The schema of the answers, and the functions that change. */
  Read: TSchema
  Changed: TSchema
  readSummary: string
  /** Runs before a patch, outside of its transaction. */
  prepare?(call: Call<Services>, ids: readonly string[], patch: object): Promise<void>
  patch(call: Call<Services>, ids: readonly string[], patch: object): Promise<Outcomes>
  replace(call: Call<Services>, id: string, metadata: object): Promise<void>
  lock(call: Call<Services>, ids: readonly string[], locks: object): Promise<Outcomes>
  read(call: Call<Services>, id: string, sources: boolean): Promise<unknown>
  readChanged(call: Call<Services>, id: string): Promise<unknown>
  readLocks(call: Call<Services>, id: string): Promise<unknown>
}

function reachOf({ many, one }: Pick<MetadataKind<never>, 'many' | 'one'>) {
  const [idName, idsName] = [`${one}Id`, `${one}Ids`]
  return {
    idsName,
    path: `/api/v1/${many}/:${idName}/metadata`,
    bulkPath: `/api/v1/${many}/bulk/metadata`,
    params: Type.Object({ [idName]: Uuid }),
    idOf: (params: unknown) => (params as Record<string, string>)[idName] as string,
    read: { who: `${many}-read` as const },
    write: { who: `${many}-write` as const },
  }
}

/** Schema of the ids of a bulk change. @param most limit, since larger changes would lock too many rows at once */
export const bulkIds = (most: number) => Type.Array(Uuid, { minItems: 1, maxItems: most, description: 'All of them change, or none.' })

/** One change for many records. */
function bulkRoutes<Services>(kind: MetadataKind<Services>) {
  const endpoint = endpointOf<Services>()
  const { idsName, bulkPath, write } = reachOf(kind)
  const split = (body: unknown) => {
    const { [idsName]: ids = [], ...rest } = body as Record<string, string[]>
    return { ids, rest }
  }
  return [
    endpoint({
      method: 'PATCH',
      path: bulkPath,
      summary: `Apply one metadata change to many ${kind.many}`,
      tag: kind.many,
      allow: write,
      body: Type.Object({ [idsName]: bulkIds(kind.bulkMax), ...kind.Patch.properties }, { additionalProperties: false }),
      bodyBytesMax: BODY_BYTES_MAX,
      reply: BulkOutcome,
      run: async (call, { body }) => {
        const { ids, rest } = split(body)
        await kind.prepare?.(call, ids, rest)
        const items = await kind.patch(call, ids, rest)
        const updatedCount = items.filter(({ outcomes }) => outcomes.some(({ result }) => result === 'set' || result === 'cleared')).length
        return { message: `Changed ${updatedCount} of ${items.length} ${kind.many}.`, updatedCount, items }
      },
    }),
    endpoint({
      method: 'PUT',
      path: `${bulkPath}/locks`,
      summary: `Lock or unlock fields of many ${kind.many}`,
      tag: kind.many,
      allow: write,
      body: Type.Object({ [idsName]: bulkIds(kind.bulkMax), ...kind.LocksPatch.properties }, LENIENT),
      reply: BulkOutcome,
      run: async (call, { body }) => {
        const { ids, rest } = split(body)
        const items = await kind.lock(call, ids, rest)
        return { message: `Changed the locks of ${items.length} ${kind.many}.`, updatedCount: items.length, items }
      },
    }),
  ]
}

/** The metadata of one record. */
function recordRoutes<Services>(kind: MetadataKind<Services>) {
  const endpoint = endpointOf<Services>()
  const { path, params, idOf, read, write } = reachOf(kind)
  const change = (method: 'PATCH' | 'PUT', summary: string) =>
    endpoint({
      ...{ method, path, summary, tag: kind.many, allow: write, params },
      ...{ body: kind.Patch, bodyBytesMax: BODY_BYTES_MAX, reply: kind.Changed },
      run: async (call, { params, body }) => {
        const id = idOf(params)
        await kind.prepare?.(call, [id], body as object)
        if (method === 'PATCH') await kind.patch(call, [id], body as object)
        else await kind.replace(call, id, body as object)
        return await kind.readChanged(call, id)
      },
    })
  return [
    endpoint({
      ...{ method: 'GET', path, summary: kind.readSummary, tag: kind.many, allow: read, params, reply: kind.Read },
      query: Type.Object({ sources: Type.Optional(Type.Boolean({ description: 'Also return the source of each field.' })) }),
      versionOf: (reply) => (reply as { updatedAt: string }).updatedAt,
      run: (call, { params, query }) => kind.read(call, idOf(params), query.sources === true),
    }),
    change('PATCH', `Change metadata of a ${kind.one}: an absent field is kept, null clears, a value is set and locked`),
    change('PUT', `Replace the metadata of a ${kind.one}: absent fields are cleared`),
  ]
}

/** The locks of one record: fields that machines may not change. */
function lockRoutes<Services>(kind: MetadataKind<Services>) {
  const endpoint = endpointOf<Services>()
  const { path, params, idOf, read, write } = reachOf(kind)
  const locks = { path: `${path}/locks`, tag: kind.many, params, reply: kind.Locks }
  return [
    endpoint({
      ...locks,
      method: 'GET',
      summary: `Get the locks of a ${kind.one}: fields that only users may change`,
      allow: read,
      run: (call, { params }) => kind.readLocks(call, idOf(params)),
    }),
    endpoint({
      ...locks,
      method: 'PUT',
      summary: `Lock or unlock fields of a ${kind.one}; others keep their state`,
      allow: write,
      body: kind.LocksPatch,
      run: async (call, { params, body }) => {
        await kind.lock(call, [idOf(params)], body as object)
        return await kind.readLocks(call, idOf(params))
      },
    }),
  ]
}

/** Routes to read and change the metadata and locks of books or series. */
export function metadataRoutes<Services>(kind: MetadataKind<Services>) {
  return [...bulkRoutes(kind), ...recordRoutes(kind), ...lockRoutes(kind)]
}
