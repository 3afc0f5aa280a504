import Type, { type Static, type TObject, type TSchema } from 'typebox'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { LENIENT, Noun, Uuid } from '#core/foundation/schema.ts'

/** Summaries of 40,000 characters, people and 64 KB of custom metadata fit with room to spare. */
const BODY_BYTES_MAX = 512 * 1024

const Outcome = Type.Object({ field: Type.String(), result: Type.String({ description: 'set, cleared or unchanged.' }) })
const BulkOutcome = Noun('BulkMetadataOutcome')({
  message: Type.String(),
  updatedCount: Type.Integer({ minimum: 0 }),
  items: Type.Array(Type.Object({ id: Uuid, outcomes: Type.Array(Outcome) })),
})
type Outcomes = Static<typeof BulkOutcome>['items']

/** What books and series have of their own in editing their metadata. A patch and locks are what their schemas let in. */
interface MetadataKind<Services> {
  /** In addresses and in sentences. */
  many: 'books' | 'series'
  one: 'book' | 'series'
  bulkMax: number
  Patch: TObject
  LocksPatch: TObject
  Locks: TSchema
  /** What reading answers, and what a change does. */
  Read: TSchema
  Changed: TSchema
  readSummary: string
  /** Done before a patch, outside of its transaction. */
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

/** The ids that the body of a change of many begins with. @param most larger changes lock too many rows at once */
export const bulkIds = (most: number) => Type.Array(Uuid, { minItems: 1, maxItems: most, description: 'All of them are changed, or none.' })

/** Many alike. */
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
      summary: `Change the metadata of many ${kind.many} alike`,
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

/** The metadata of one. */
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
      query: Type.Object({ sources: Type.Optional(Type.Boolean({ description: 'Also who gave each field its value.' })) }),
      run: (call, { params, query }) => kind.read(call, idOf(params), query.sources === true),
    }),
    change('PATCH', `Change some metadata of a ${kind.one}: absent keeps, null clears, a value is set and locked`),
    change('PUT', `Replace the metadata of a ${kind.one}: what is absent is cleared`),
  ]
}

/** Which fields of one machines may not change. */
function lockRoutes<Services>(kind: MetadataKind<Services>) {
  const endpoint = endpointOf<Services>()
  const { path, params, idOf, read, write } = reachOf(kind)
  const locks = { path: `${path}/locks`, tag: kind.many, params, reply: kind.Locks }
  return [
    endpoint({
      ...locks,
      method: 'GET',
      summary: `Which fields of a ${kind.one} machines may not change`,
      allow: read,
      run: (call, { params }) => kind.readLocks(call, idOf(params)),
    }),
    endpoint({
      ...locks,
      method: 'PUT',
      summary: `Lock or unlock fields of a ${kind.one}; those not named stay`,
      allow: write,
      body: kind.LocksPatch,
      run: async (call, { params, body }) => {
        await kind.lock(call, [idOf(params)], body as object)
        return await kind.readLocks(call, idOf(params))
      },
    }),
  ]
}

/** Reading and changing the metadata of books or series, and its locks. */
export function metadataRoutes<Services>(kind: MetadataKind<Services>) {
  return [...bulkRoutes(kind), ...recordRoutes(kind), ...lockRoutes(kind)]
}
