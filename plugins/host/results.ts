import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import type { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { ProposedBy } from '#core/fields/field.ts'
import type { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import { boundMarks, cutText } from '#core/foundation/text.ts'
import { plainText } from '#core/matching/plain-text.ts'
import {
  BookAnswer,
  ID_PATTERN,
  MatchAnswer,
  Recommendation,
  RecommendationsAnswer,
  SearchAnswer,
  SearchResult,
  SeriesAnswer,
  WEB_PATTERN,
} from '#core/matching/provider-answers.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'
import { describeSchemaProblem, valueAt } from '#plugins/packages/schema-problem.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type * as Sdk from '../../plugin-sdk/types.ts'

/**
 * Schemas of plugin answers, by method; the types of the SDK are checked against them. Unknown members are dropped, texts are cut, numbers are
 * rounded and clamped to their range; anything with another shape is refused.
 */

/** The compiler reports members that the SDK's type lacks. */
type Has<Answer, _Proposed extends keyof Answer> = Answer
export type SdkAnswers = {
  series: Has<Sdk.SeriesMetadata, ProposedBy<typeof SERIES_FIELDS>>
  book: Has<Sdk.BookMetadata, ProposedBy<typeof BOOK_FIELDS>>
}

/** The schema of every method's answer; answers of other methods are ignored. */
export const RESULT_SCHEMAS = {
  'metadata.series.search': SearchAnswer,
  'metadata.series.get': SeriesAnswer,
  'metadata.series.match': MatchAnswer,
  'metadata.book.search': SearchAnswer,
  'metadata.book.get': BookAnswer,
  'metadata.book.match': MatchAnswer,
  'recommendations.get': RecommendationsAnswer,
  'recommendations.refresh': RecommendationsAnswer,
} as const satisfies Readonly<Record<string, TSchema>>

const checks = new Map(Object.entries<TSchema>(RESULT_SCHEMAS).map(([method, schema]) => [method, Compile(schema)]))

/** Lists that may lose invalid items, when the caller allows it: one bad item of a service is no reason to show none. */
const LISTS: Readonly<Record<string, { name: string; item: { Check(value: unknown): boolean } }>> = {
  'metadata.series.search': { name: 'results', item: Compile(SearchResult) },
  'metadata.book.search': { name: 'results', item: Compile(SearchResult) },
  'recommendations.get': { name: 'recommendations', item: Compile(Recommendation) },
  'recommendations.refresh': { name: 'recommendations', item: Compile(Recommendation) },
}

/**
 * Parses the answer of a method, and rebuilds it from the members in its schema.
 * @param onLeftOut receives the number of list items that were invalid and left out; without it, or when no item is valid, the whole answer is refused
 * @throws GuestError invalid_result with the path of the wrong member
 */
export function readResult(method: string, json: string, onLeftOut?: (what: string) => void): unknown {
  const check = checks.get(method)
  const schema = (RESULT_SCHEMAS as Readonly<Record<string, TSchema>>)[method]
  if (check === undefined || schema === undefined) return null
  const value = mapAnswer(schema as AnswerShape, JSON.parse(json), fit)
  // Only now: in a union, members of an object are unknown only where all others are valid.
  const known = (answer: unknown): unknown => Value.Clean(schema, answer)
  if (check.Check(value)) return known(value)
  const [first] = check.Errors(value)
  const wrong = first === undefined ? 'it has another form' : describeProblem(schema, value, first)
  const left = onLeftOut && withoutMisfits(method, value)
  if (onLeftOut && left && check.Check(left.value)) {
    onLeftOut(`${left.what}, because they are invalid; in the first, ${wrong}.`)
    return known(left.value)
  }
  throw new GuestError('invalid_result', `The plugin's ${method} returned an invalid answer: ${wrong}.`)
}

/** Descriptions of the patterns for people. */
const PATTERNS: Readonly<Record<string, string>> = {
  [ID_PATTERN]: 'must be a text of 1 to 200 characters, without control characters',
  [WEB_PATTERN]: 'must be an address with http or https',
}

function describeProblem(schema: TSchema, value: unknown, problem: Parameters<typeof describeSchemaProblem>[1]): string {
  const said = describeSchemaProblem(value, problem, { schema: schema as Shape, patterns: PATTERNS })
  const place = problem.instancePath === '' ? 'the answer' : briefText(problem.instancePath)
  return `${place}: ${said}${causeOf(value, problem.instancePath, said)}`
}

/** What the value was before it became JSON, where that says more than it. */
function causeOf(answer: unknown, place: string, said: string): string {
  if (answer === null) return '; the function returned nothing'
  const value = valueAt(answer, place)
  if (value === null) return /^must be a (whole )?number/.test(said) ? '; JSON has null for NaN and Infinity too' : ''
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value as object).length === 0
    ? '; {} is also what remains of a promise without await, of a Map and of a Set'
    : ''
}

/** The answer with the valid items of its list; null when there are none. */
function withoutMisfits(method: string, value: unknown): { value: unknown; what: string } | null {
  const list = LISTS[method]
  const items = list && (value as Readonly<Record<string, unknown>> | null)?.[list.name]
  if (list === undefined || !Array.isArray(items)) return null
  const kept = items.filter((item) => list.item.Check(item))
  if (kept.length === 0) return null
  const what = `${items.length - kept.length} of ${items.length} ${list.name} were left out`
  return { value: { ...(value as object), [list.name]: kept }, what }
}

const WEB = new RegExp(WEB_PATTERN)

/** What the schemas of answers consist of. */
export interface AnswerShape {
  type?: string
  anyOf?: AnswerShape[]
  items?: AnswerShape
  properties?: Record<string, AnswerShape>
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  maxProperties?: number
  patternProperties?: Record<string, AnswerShape>
  pattern?: string
  'x-text'?: 'line' | 'lines'
  /** A picture is loaded as soon as it is seen, a link when somebody opens it. */
  'x-address'?: 'picture'
}

/** A text or number in an answer, in another form. An address that becomes null is left out, with its entry of a list if that needs one. */
type MapLeaf = (shape: AnswerShape, value: string | number) => string | number | null

/** An answer with other texts and numbers, and without what exceeds the limits of its lists. */
export function mapAnswer(shape: AnswerShape, value: unknown, leaf: MapLeaf): unknown {
  if (value === null) return null
  if (shape.anyOf) return mapAnswer(shape.anyOf.find(({ type }) => type !== 'null') ?? {}, value, leaf)
  if (typeof value === 'string' || typeof value === 'number') return leaf(shape, value)
  if (Array.isArray(value)) return mapList(shape, value, leaf)
  if (typeof value === 'object' && shape.properties) return mapProperties(shape.properties, value, leaf)
  return typeof value === 'object' && shape.patternProperties ? mapMembers(shape, value, leaf) : value
}

/** Unknown members stay as they are: how deep they are is not known either. */
function mapProperties(properties: Record<string, AnswerShape>, value: object, leaf: MapLeaf): Record<string, unknown> {
  const shapeOf = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : undefined)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const shape = shapeOf(name)
      return [name, shape === undefined ? member : mapAnswer(shape, member, leaf)]
    }),
  )
}

export const isAddress = ({ pattern }: AnswerShape): boolean => pattern === WEB_PATTERN

/** Without entries that have lost their address: the rest of such an entry says nothing. */
function mapList({ items = {}, maxItems }: AnswerShape, list: readonly unknown[], leaf: MapLeaf): unknown[] {
  const addresses = Object.entries(items.properties ?? {}).flatMap(([name, member]) => (isAddress(member) ? [name] : []))
  const has = (entry: unknown, name: string) => typeof (entry as Record<string, unknown> | null)?.[name] === 'string'
  return list
    .map((given) => ({ given, entry: mapAnswer(items, given, leaf) }))
    .filter(({ given, entry }) => !addresses.some((name) => has(given, name) && !has(entry, name)))
    .map(({ entry }) => entry)
    .slice(0, maxItems)
}

/** Without members with invalid names, and those beyond the limit. */
function mapMembers({ patternProperties = {}, maxProperties }: AnswerShape, map: object, leaf: MapLeaf): Record<string, unknown> {
  const [pattern = '', member = {}] = Object.entries(patternProperties)[0] ?? []
  const name = new RegExp(pattern)
  const kept = Object.entries(map).filter(([key]) => name.test(key))
  return Object.fromEntries(kept.slice(0, maxProperties).map(([key, value]) => [key, mapAnswer(member, value, leaf)]))
}

/** Cuts and clamps values that are too long or too large: a short summary is better than none. */
const fit: MapLeaf = (shape, value) =>
  typeof value === 'number' ? fitNumber(shape, value) : isAddress(shape) ? fitAddress(shape, value) : fitText(shape, value)

/** As browsers write it: quotation marks and spaces are percent-encoded, and line ends are gone. Null for another scheme than http or https, or a long one. */
function fitAddress({ maxLength = Infinity }: AnswerShape, value: string): string | null {
  const href = WEB.test(value) ? URL.parse(value)?.href : undefined
  return href === undefined || href.length > maxLength ? null : href.replaceAll("'", '%27')
}

function fitText({ pattern, maxLength, 'x-text': form }: AnswerShape, value: string): string {
  // A cut identifier would be a different one.
  if (maxLength === undefined || pattern !== undefined) return value
  const plain = form === undefined ? value : plainText(value)
  return cut(form === 'line' ? plain.replace(/\s+/g, ' ') : plain, maxLength)
}

/** The SDK has only numbers, no integers: where a whole number is required, rounds to the nearest. */
function fitNumber({ type, minimum, maximum }: AnswerShape, value: number): number {
  const number = type === 'integer' ? Math.round(value) : value
  return Math.min(Math.max(number, minimum ?? number), maximum ?? number)
}

/** Removes control characters, which are never displayed, and half characters. */
const cut = (value: string, length: number) =>
  boundMarks(cutText(value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, ''), length)).toWellFormed()
