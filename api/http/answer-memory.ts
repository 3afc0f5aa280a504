import { etagOf } from '#api/http/conditional.ts'
import type { Caller } from '#core/account/caller.ts'
import { permissionKey } from '#core/account/permission.ts'
import { viewerKey } from '#core/account/visibility.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { shortKey } from '#core/foundation/register.ts'
import type { ListState } from '#core/paging/list-state.ts'

/** A JSON answer, as it is sent again. */
export interface KnownAnswer {
  /** Strong, without quotes: of exactly these bytes. */
  etag: string
  bytes: Buffer
  /** Made for the first client that accepts gzip. */
  gzipped: Promise<Buffer> | null
  mediaType: string
  /** Headers that the route has set, such as Link. */
  headers: readonly (readonly [name: string, value: string])[]
}

interface Remembered extends KnownAnswer {
  /** Short: a sight may name thousands of libraries and tags, and is only compared. */
  sight: string
  catalog: string
  own: string
  /** Null if it does not depend on them. */
  averages: string | null
}

/** Some 500 pages of lists with their packed form: what a few apps ask for while nothing changes. */
const BYTES_MAX = 24 * 1024 * 1024
/** A larger answer would push out too many others. */
const ANSWER_BYTES_MAX = 512 * 1024

/**
 * Remembers answers that depend on nothing but the request, the caller and the state of the catalog, until that state changes. A repeated request then costs
 * one small statement, for the state.
 */
export class AnswerMemory {
  readonly #answers = new BoundedCache<Remembered>({
    bytesMax: BYTES_MAX,
    // Text takes about a third of its size when it is packed.
    bytesOf: ({ bytes, ...beside }) => bytes.length * 1.4 + memoryBytes(beside),
  })

  find(key: string, { sight, catalog, own, averages }: ListState): KnownAnswer | null {
    const known = this.#answers.get(key)
    if (known === undefined || known.catalog !== catalog || known.own !== own || known.sight !== shortKey(sight)) return null
    return known.averages === null || known.averages === averages ? known : null
  }

  /**
   * @param state of the data, read before the answer was made
   * @param withAverages whether the answer depends on averages
   */
  keep(key: string, { sight, catalog, own, averages }: ListState, answer: KnownAnswer, withAverages: boolean): void {
    if (answer.bytes.length > ANSWER_BYTES_MAX) return
    this.#answers.set(key, Object.assign(answer, { sight: shortKey(sight), catalog, own, averages: withAverages ? averages : null }))
  }
}

/**
 * The key of a request: two with the same key get the same answer while the state is the same.
 * @param request.body of a list request, as it was read
 */
export function requestKey(caller: Caller, request: { path: string; rawQuery: string; body: unknown }): string {
  const body = request.body === undefined ? '' : JSON.stringify(request.body)
  return shortKey(`${viewerKey(caller)} ${permissionKey(caller.permissions)} ${request.path}?${request.rawQuery} ${body}`)
}

/** A strong ETag without quotes. @param version of the record itself, which an edit compares with If-Match */
export function etagOfAnswer(bytes: Buffer, version: string | null): string {
  return version === null ? etagOf(bytes) : `${version}.${etagOf(bytes)}`
}
