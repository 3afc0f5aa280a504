import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import type { Route } from '#api/http/endpoint.ts'
import { mountsOf } from '#api/http/mount.ts'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'
import { ERRORS } from '#core/foundation/errors.ts'
import { findContract } from '#test/support/contract.ts'
import { shapeComplaints } from '#test/support/expected-shapes.ts'

/** How to recognize an answer, and the shape of the wire contract that it must then have. */
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
/** The entries of a long list are alike; checking the first ones is enough. */
const ENTRIES_MAX = 20

const replies = new Map<TSchema, Validator>()

/**
 * The problems of the body of an answer; empty when it is correct. The body must have the shape that its route declares, every object in it that
 * the wire contract defines must have the contract's shape, and an error response must have the server's own form.
 */
export function complaintsOf(
  answer: { method: string; path: string; status: number; json: unknown },
  own: readonly Route<Services>[] = routes,
): string[] {
  const { method, path, status, json } = answer
  // The OpenAPI document describes every shape and has none of them.
  if (json === undefined || path === '/api/openapi.json') return []
  const bare = path.split('?', 1)[0] as string
  const route = findRoute(own, method, bare)
  const mount = route?.mount ?? mountsOf(own).find((one) => one.covers(bare))
  // A closed mount returns error responses in the server's own form.
  if (status >= 400 && mount && status !== 429 && refusalComplaints(status, json).length > 0)
    return replyComplaints(mount.dialect.shapeOf(status).schema, json)
  if (status >= 400) return refusalComplaints(status, json)
  const schema = route?.kind === 'endpoint' ? (route.reply as TSchema | undefined) : undefined
  const full = /[?&]full=true(&|$)/.test(path)
  const promised = route ? shapeComplaints({ method, path: route.path, full, json }) : []
  // A foreign protocol has its own shapes, and some look like ours.
  const ours = route?.mount ? [] : [...promised, ...contractComplaints(json, '')]
  return [...(schema ? replyComplaints(schema, json) : []), ...ours]
}

function refusalComplaints(status: number, json: unknown): string[] {
  if (status === 429) return findContract('RateLimited')(json)
  const { error, message, requestId, details, ...others } = (json ?? {}) as Record<string, unknown>
  if (typeof error !== 'string' || typeof message !== 'string' || typeof requestId !== 'string') {
    return ['an error response must have error, message and requestId']
  }
  const unknown = error in ERRORS ? [] : [`"${error}" is not a code of this server`]
  return [...unknown, ...Object.keys(others).map((name) => `an error response must not have ${name}`)]
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
  // A literal segment of a path takes precedence over a parameter.
  return (
    fits.find((route) => isDeepStrictEqual(partsOf(route), parts)) ??
    fits.toSorted((a, b) => a.path.split(':').length - b.path.split(':').length)[0]
  )
}
