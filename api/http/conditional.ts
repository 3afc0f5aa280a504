import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The validators of a response. `etag` is strong and without quotes. */
export interface Validators {
  etag?: string | undefined
  lastModified?: Date | undefined
}

/** 128 bits are enough to distinguish contents. */
const ETAG_DIGITS = 22

/** A strong ETag, without quotes, of bytes that do not change. */
export const etagOf = (bytes: Uint8Array): string => hash('sha256', bytes, 'base64url').slice(0, ETAG_DIGITS)

/**
 * Evaluates the conditions of a GET or HEAD that would otherwise succeed, in the order of RFC 9110, 13.2.2. A Range is evaluated
 * only after `send`.
 */
export function checkConditions(headers: IncomingHttpHeaders, validators: Validators): 'send' | 'unmodified' | 'failed' {
  if (!isAsExpected(headers, validators)) return 'failed'
  return isUnmodified(headers, validators) ? 'unmodified' : 'send'
}

/** Whether the client expects this version: by If-Match with strong tags or, without it, by If-Unmodified-Since. */
function isAsExpected(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headers['if-match']
  if (tags !== undefined) return expectsTag(tags, (tag) => tag === etag)
  const since = Date.parse(headers['if-unmodified-since'] ?? '')
  return lastModified === undefined || Number.isNaN(since) || wholeSeconds(lastModified) <= since
}

/** Whether the copy of the client is current: by If-None-Match or, without it, by If-Modified-Since. */
function isUnmodified(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return isAnyTag(tags) || (etag !== undefined && readTags(tags).some((tag) => tag.value === etag))
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return lastModified !== undefined && !Number.isNaN(since) && wholeSeconds(lastModified) <= since
}

/** Whether If-Range allows a partial response (RFC 9110, 13.1.5): it is absent, or has exactly this strong tag or date. */
export function allowsRange(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const condition = headers['if-range']
  if (typeof condition !== 'string') return true
  if (condition.includes('"')) {
    const [tag] = readTags(condition)
    return tag !== undefined && !tag.weak && tag.value === etag
  }
  return lastModified !== undefined && wholeSeconds(lastModified) === Date.parse(condition)
}

/** One range of a content of `size` bytes, both ends included. */
interface ByteRange {
  start: number
  end: number
}

/**
 * Reads a Range header (RFC 9110, 14.2). Null means: send the whole content. That is so for other units, malformed headers and
 * several ranges at once; a server may ignore those, and they only cost memory and multipart responses.
 */
export function readByteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=\s*(?:(\d{1,15})\s*-(?:\s*(\d{1,15}))?|-\s*(\d{1,15}))\s*$/i.exec(header ?? '')
  if (!match) return null
  const [, first, last, suffix] = match
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  if (last !== undefined && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === undefined ? size - 1 : Math.min(Number(last), size - 1) }
}

/** HTTP dates have no fractions. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}

/** Whether any version fulfills an If-Match header, and no version an If-None-Match header. */
export const isAnyTag = (tags: string): boolean => tags.trim() === '*'

/** Whether an If-Match header has a strong tag of an expected form, or `*`, which any version fulfills. */
export const expectsTag = (ifMatch: string, isExpected: (tag: string) => boolean): boolean =>
  isAnyTag(ifMatch) || readTags(ifMatch).some(({ weak, value }) => !weak && isExpected(value))

function readTags(text: string): { weak: boolean; value: string }[] {
  return [...text.matchAll(/(W\/)?"([^"]*)"/g)].map(([, weak, value = '']) => ({ weak: weak !== undefined, value }))
}
