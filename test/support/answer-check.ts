import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import type { Route } from '#api/http/endpoint.ts'
import { mountsOf } from '#api/http/mount.ts'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'
import { ERRORS } from '#core/foundation/errors.ts'
import { findContract } from '#test/support/contract.ts'
import { promiseComplaints } from '#test/support/promised-shapes.ts'

/** What an answer is recognized by, and the shape of the wire contract that it then must have. */
const SHAPES: { shape: string; is: (value: Record<string, unknown>) => boolean }[] = [
  { shape: 'FullBook', is: (value) => 'fileHash' in value && 'metadata' in value },
  // Groups of duplicates have a hash too.
  { shape: 'Book', is: (value) => 'fileHash' in value && !('metadata' in value) && !('bookIds' in value) },
  { shape: 'FullBookMetadata', is: (value) => 'writers' in value && 'locks' in value },
  { shape: 'BookMetadata', is: (value) => 'bookId' in value && 'locks' in value },
  { shape: 'BookMetadataLocks', is: (value) => 'writerLock' in value },
  { shape: 'BooksWithErrors', is: (value) => 'errorCounts' in value && 'groups' in value },
  { shape: 'BookError', is: (value) => 'errorType' in value && 'occurredAt' in value },
  { shape: 'Paginated', is: (value) => 'data' in value && 'links' in value },
  { shape: 'BookContext', is: (value) => value['type'] === 'book' && 'bookId' in value },
  { shape: 'SeriesContext', is: (value) => value['type'] === 'series' && 'bookCount' in value },
  { shape: 'Recommendations', is: (value) => Array.isArray(value['recommendations']) },
]
/** Lists of five hundred are all alike. */
const ENTRIES_MAX = 20

const replies = new Map<TSchema, Validator>()

/**
 * What is wrong with the body of an answer, nothing when all is well: it must have the shape that its route has declared, everything in it that
 * the wire contract knows must have the contract's shape, and a refusal must be one of ours.
 */
export function complaintsOf(
  answer: { method: string; path: string; status: number; json: unknown },
  own: readonly Route<Services>[] = routes,
): string[] {
  const { method, path, status, json } = answer
  // The description of the interface speaks of every shape without having any of them.
  if (json === undefined || path === '/api/openapi.json') return []
  const bare = path.split('?', 1)[0] as string
  const route = findRoute(own, method, bare)
  const mount = route?.mount ?? mountsOf(own).find((one) => one.covers(bare))
  // Where a mount is closed, refusals are our own.
  if (status >= 400 && mount && status !== 429 && refusalComplaints(status, json).length > 0)
    return replyComplaints(mount.dialect.shapeOf(status).schema, json)
  if (status >= 400) return refusalComplaints(status, json)
  const schema = route?.kind === 'endpoint' ? (route.reply as TSchema | undefined) : undefined
  const full = /[?&]full=true(&|$)/.test(path)
  const promised = route ? promiseComplaints({ method, path: route.path, full, json }) : []
  // A foreign protocol has shapes of its own, of which some look like ours.
  const ours = route?.mount ? [] : [...promised, ...contractComplaints(json, '')]
  return [...(schema ? replyComplaints(schema, json) : []), ...ours]
}

function refusalComplaints(status: number, json: unknown): string[] {
  if (status === 429) return findContract('RateLimited')(json)
  const { error, message, requestId, details, ...others } = (json ?? {}) as Record<string, unknown>
  if (typeof error !== 'string' || typeof message !== 'string' || typeof requestId !== 'string') {
    return ['a refusal has the members error, message and requestId']
  }
  const unknown = error in ERRORS ? [] : [`"${error}" is no code of ours`]
  return [...unknown, ...Object.keys(others).map((name) => `a refusal has no member ${name}`)]
}

function replyComplaints(schema: TSchema, json: unknown): string[] {
  const reply = replies.get(schema) ?? (Compile(schema) as unknown as Validator)
  replies.set(schema, reply)
  return reply.Check(json)
    ? []
    : [...reply.Errors(json)].slice(0, 5).map(({ instancePath, message }) => `${instancePath} ${message} (our own schema)`)
}

function contractComplaints(value: unknown, at: string): string[] {
  if (value === null || typeof value !== 'object') return []
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).flatMap((entry, index) => contractComplaints(entry, `${at}/${index}`))
  const members = value as Record<string, unknown>
  const shape = SHAPES.find(({ is }) => is(members))?.shape
  const own = shape ? findContract(shape)(value).map((complaint) => `${at}${complaint} (contract ${shape})`) : []
  return [...own, ...Object.entries(members).flatMap(([name, member]) => contractComplaints(member, `${at}/${name}`))]
}

const partsOfRoutes = new WeakMap<Route<Services>, string[]>()

function partsOf(route: Route<Services>): string[] {
  const parts = partsOfRoutes.get(route) ?? route.path.split('/')
  partsOfRoutes.set(route, parts)
  return parts
}

function findRoute(own: readonly Route<Services>[], method: string, path: string): Route<Services> | undefined {
  const parts = path.split('/')
  const fits = own.filter((route) => {
    if (route.method !== method) return false
    const wanted = partsOf(route)
    return wanted.length === parts.length && wanted.every((part, index) => part.startsWith(':') || part === parts[index])
  })
  // Words of the path's own come before parameters.
  return (
    fits.find((route) => isDeepStrictEqual(partsOf(route), parts)) ??
    fits.toSorted((a, b) => a.path.split(':').length - b.path.split(':').length)[0]
  )
}
