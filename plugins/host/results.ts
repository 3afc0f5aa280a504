import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { boundMarks, cutText } from '#core/foundation/text.ts'
import {
  BookAnswer,
  MatchAnswer,
  Recommendation,
  RecommendationsAnswer,
  SearchAnswer,
  SearchResult,
  SeriesAnswer,
} from '#core/matching/provider-answers.ts'
import type { BOOK_FIELDS } from '#core/metadata/book-metadata.ts'
import type { ProposedBy } from '#core/metadata/field.ts'
import type { SERIES_FIELDS } from '#core/metadata/series-metadata.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type * as Kit from '../../plugin-sdk/types.ts'

/**
 * What plugins may answer, by method: schemas that the types of the SDK are checked against. Unknown members are dropped, texts are cut, numbers
 * rounded and clamped to what they mean; what has not the shape is refused.
 */

/** The compiler names those that the type of the kit lacks. */
type Has<Answer, _Proposed extends keyof Answer> = Answer
export type KitAnswers = {
  series: Has<Kit.SeriesMetadata, ProposedBy<typeof SERIES_FIELDS>>
  book: Has<Kit.BookMetadata, ProposedBy<typeof BOOK_FIELDS>>
}

/** The schema of every method's answer; what is not in the table answers nothing that anybody reads. */
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

/** Lists that lose an item which does not fit, where whoever reads them allows it: one odd work of a service is no reason to show none. */
const LISTS: Readonly<Record<string, { name: string; item: { Check(value: unknown): boolean } }>> = {
  'metadata.series.search': { name: 'results', item: Compile(SearchResult) },
  'metadata.book.search': { name: 'results', item: Compile(SearchResult) },
  'recommendations.get': { name: 'recommendations', item: Compile(Recommendation) },
  'recommendations.refresh': { name: 'recommendations', item: Compile(Recommendation) },
}

/**
 * Reads the answer of a method, and rebuilds it from what its schema knows.
 * @param onLeftOut told how many items of a list did not fit and were left out; without it they are refused with the whole, as where none fits
 * @throws GuestError invalid_result with the path of the member that is wrong
 */
export function readResult(method: string, json: string, onLeftOut?: (what: string) => void): unknown {
  const check = checks.get(method)
  const schema = (RESULT_SCHEMAS as Readonly<Record<string, TSchema>>)[method]
  if (check === undefined || schema === undefined) return null
  const value = fit(schema as Shape, Value.Clean(schema, JSON.parse(json) as unknown))
  if (check.Check(value)) return value
  const [first] = check.Errors(value)
  const wrong = `${first?.instancePath || 'the answer'} ${first?.message}`
  const left = onLeftOut && withoutMisfits(method, value)
  if (onLeftOut && left && check.Check(left.value)) {
    onLeftOut(`${left.what}, which may not be as they were answered; of the first, ${wrong}.`)
    return left.value
  }
  throw new GuestError('invalid_result', `The plugin's ${method} answered what it may not: ${wrong}.`)
}

/** The answer with those items of its list that fit; null where there are none. */
function withoutMisfits(method: string, value: unknown): { value: unknown; what: string } | null {
  const list = LISTS[method]
  const items = list && (value as Readonly<Record<string, unknown>> | null)?.[list.name]
  if (list === undefined || !Array.isArray(items)) return null
  const kept = items.filter((item) => list.item.Check(item))
  if (kept.length === 0) return null
  const what = `${items.length - kept.length} of ${items.length} ${list.name} were left out`
  return { value: { ...(value as object), [list.name]: kept }, what }
}

interface Shape {
  type?: string
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  maxProperties?: number
  patternProperties?: Record<string, Shape>
  pattern?: string
}

/** Cuts and clamps what is too long or too large: better a short summary than none. */
function fit(shape: Shape, value: unknown): unknown {
  if (shape.anyOf) return value === null ? null : fit(shape.anyOf.find(({ type }) => type !== 'null') ?? {}, value)
  // An address or an identifier that was cut would be another one.
  if (typeof value === 'string') return shape.maxLength !== undefined && shape.pattern === undefined ? cut(value, shape.maxLength) : value
  if (typeof value === 'number') return fitNumber(shape, value)
  if (Array.isArray(value)) return value.slice(0, shape.maxItems).map((entry) => (shape.items ? fit(shape.items, entry) : entry))
  if (value !== null && typeof value === 'object' && shape.properties) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fit(shape.properties?.[name] ?? {}, member)]))
  }
  if (value !== null && typeof value === 'object' && shape.patternProperties) return fitMap(shape, value)
  return value
}

/** The kit knows numbers and no integers: where only whole ones have a meaning, the nearest is meant. */
function fitNumber({ type, minimum, maximum }: Shape, value: number): number {
  const number = type === 'integer' ? Math.round(value) : value
  return Math.min(Math.max(number, minimum ?? number), maximum ?? number)
}

/** Members with names that are none are dropped, and those beyond the limit. */
function fitMap({ patternProperties = {}, maxProperties }: Shape, map: object): Record<string, unknown> {
  const [pattern = '', member = {}] = Object.entries(patternProperties)[0] ?? []
  const name = new RegExp(pattern)
  const kept = Object.entries(map).filter(([key]) => name.test(key))
  return Object.fromEntries(kept.slice(0, maxProperties).map(([key, value]) => [key, fit(member, value)]))
}

/** Control characters have no place in anything that is shown; half of a pair is no letter. */
const cut = (value: string, length: number) =>
  boundMarks(cutText(value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, ''), length)).toWellFormed()
