import { STATUS_CODES } from 'node:http'
import Type from 'typebox'
import { BASIC } from '#api/http/failure.ts'
import type { Dialect } from '#api/http/mount.ts'
import { readFlag } from '#api/http/query.ts'
import { secondsOf } from '#api/komga/values.ts'

/** A value that the schema refuses, with the path of its member. */
const Violations = Type.Object({
  violations: Type.Array(
    Type.Object({ fieldName: Type.Union([Type.String(), Type.Null()]), message: Type.Union([Type.String(), Type.Null()]) }),
  ),
})
/** Every other error. */
const Spring = Type.Object({
  timestamp: Type.String(),
  status: Type.Integer(),
  error: Type.String(),
  message: Type.String(),
  path: Type.String(),
  requestId: Type.String({ description: 'Same as the X-Request-Id header and the requestId in the log.' }),
})

const KomgaError = Type.Union([Violations, Spring])

/** A member of a request that is invalid. */
interface Detail {
  path: string
  message: string
}

const isDetails = (details: unknown): details is Detail[] =>
  Array.isArray(details) && details.length > 0 && details.every((one) => typeof one?.path === 'string' && typeof one?.message === 'string')

/** `/locator/locations/position` is `locator.locations.position`. */
const fieldOf = (pointer: string): string | null => pointer.slice(1).replaceAll('/', '.') || null

/**
 * The status that Komga has for an error. It has no 422, and 409 only for a progression that is too late: a name that is taken is a bad request, and
 * a book that is not ready has no pages yet.
 */
function statusOf(ours: number, of: { code: string; path: string; method: string | undefined }): number {
  if (ours === 422) return 400
  if (of.code === 'not_analyzed') return 404
  if (of.code !== 'conflict' || of.path.endsWith('/progression')) return ours
  return of.method === 'GET' || of.method === 'HEAD' ? 404 : 400
}

/** Errors as Spring writes them, and queries as Komga reads them. */
export const komgaDialect: Dialect = {
  challenge: BASIC,
  refusalOf({ status: ours, body }, { path, request }) {
    const status = statusOf(ours, { code: body.error, path, method: request.method })
    const { message } = body
    const details = 'details' in body ? body.details : undefined
    if (status === 400 && isDetails(details))
      return { status, body: { violations: details.map((one) => ({ fieldName: fieldOf(one.path), message: one.message })) } }
    const requestId = 'requestId' in body ? body.requestId : ''
    const error = STATUS_CODES[status] ?? 'Error'
    return { status, body: { timestamp: secondsOf(new Date()), status, error, message, path, requestId } }
  },
  shapeOf: () => ({ schema: KomgaError }),
  /** `tag[]=a` is `tag=a`; a flag may be written `True`. As in Spring an empty value is absent: clients send those that nobody chose. */
  readQuery(given, flags) {
    const read = new URLSearchParams()
    for (const [spelled, value] of given) {
      const name = spelled.replace(/\[\]$/, '')
      if (value.trim() !== '') read.append(name, flags.has(name) ? String(readFlag(value) ?? value) : value)
    }
    return read
  },
  takesAnyId: true,
}
