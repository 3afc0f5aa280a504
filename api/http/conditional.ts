import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** What is known of the thing to send. `etag` is strong and without quotes. */
export interface Validators {
  etag?: string | undefined
  lastModified?: Date | undefined
}

/** A strong ETag, without quotes, of bytes that stay as they are. */
export const etagOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url').slice(0, 22)

/**
 * What the conditions of a GET or HEAD make of an answer that would else succeed, in the order of RFC 9110, 13.2.2. A Range is
 * looked at only after `send`.
 */
export function checkConditions(headers: IncomingHttpHeaders, validators: Validators): 'send' | 'unmodified' | 'failed' {
  if (!isAsExpected(headers, validators)) return 'failed'
  return isUnmodified(headers, validators) ? 'unmodified' : 'send'
}

/** Whether this is the version the client means: If-Match decides, by strong tags, and only in its absence If-Unmodified-Since. */
function isAsExpected(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headers['if-match']
  if (tags !== undefined) return tags.trim() === '*' || readTags(tags).some((tag) => !tag.weak && tag.value === etag)
  const since = Date.parse(headers['if-unmodified-since'] ?? '')
  return lastModified === undefined || Number.isNaN(since) || wholeSeconds(lastModified) <= since
}

/** Whether the client's copy is still good: If-None-Match decides, and only in its absence If-Modified-Since. */
function isUnmodified(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return tags.trim() === '*' || (etag !== undefined && readTags(tags).some((tag) => tag.value === etag))
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return lastModified !== undefined && !Number.isNaN(since) && wholeSeconds(lastModified) <= since
}

/** Whether If-Range allows a part of the thing (RFC 9110, 13.1.5): absent, or naming exactly this version by strong tag or date. */
export function allowsRange(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const condition = headers['if-range']
  if (typeof condition !== 'string') return true
  if (condition.includes('"')) {
    const [tag] = readTags(condition)
    return tag !== undefined && !tag.weak && tag.value === etag
  }
  return lastModified !== undefined && wholeSeconds(lastModified) === Date.parse(condition)
}

/** One range of a thing of `size` bytes, both ends included. */
interface ByteRange {
  start: number
  end: number
}

/**
 * Reads a Range header (RFC 9110, 14.2). Null means: answer with the whole, as for other units, malformed headers and several
 * ranges at once, which a server may ignore and which only cost memory and multipart parsers here.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
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

function readTags(text: string): { weak: boolean; value: string }[] {
  return [...text.matchAll(/(W\/)?"([^"]*)"/g)].map(([, weak, value = '']) => ({ weak: weak !== undefined, value }))
}
