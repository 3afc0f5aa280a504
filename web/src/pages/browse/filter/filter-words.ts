import { languageWords } from '#parts/formats.ts'
import { fieldTexts, filterTexts, wordTexts } from '#texts/filter.ts'
import { workTexts } from '#texts/works.ts'
import type { BrowseKind } from '../browse-address.ts'
import type { Line, Part } from './draft.ts'
import { FILTER_FIELDS } from './filter-fields.ts'

export const fieldWords = (name: string): string => (fieldTexts as Record<string, () => string>)[name]?.() ?? name
export const operatorWords = (operator: string, isMany = false): string =>
  operator === 'is' && isMany ? filterTexts.isOneOf() : ((filterTexts as unknown as Record<string, () => string>)[operator]?.() ?? operator)

/** Names of records by their ids. */
export type NameOf = (id: string) => string

/** "Ilse Marrow, Story" for `writer:Ilse Marrow`. */
export function personWords(value: string): string {
  const at = value.indexOf(':')
  const role = Object.hasOwn(workTexts, value.slice(0, at))
    ? (workTexts as unknown as Record<string, () => string>)[value.slice(0, at)]
    : undefined
  return at > 0 && role ? `${value.slice(at + 1)}, ${role()}` : value
}

/** A value of a field as people write it. */
export function valueWords(kind: BrowseKind, field: string, value: string, nameOf: NameOf): string {
  const known = FILTER_FIELDS[kind][field]
  if (known?.words) return (wordTexts as Record<string, () => string>)[value]?.() ?? value
  if (known?.family === 'id') return nameOf(value)
  if (field === 'language') return languageWords(value)
  if (field === 'person') return personWords(value)
  if (field === 'format') return value.toUpperCase()
  return value
}

/** A condition in a few words, for a chip. */
export function partWords(kind: BrowseKind, part: Part, nameOf: NameOf): string {
  if (part.kind === 'line') return lineWords(kind, part, nameOf)
  const words = part.parts.map((each) => (each.kind === 'group' ? `(${partWords(kind, each, nameOf)})` : partWords(kind, each, nameOf)))
  const parts = words.join(part.join === 'all' ? filterTexts.and2() : filterTexts.or())
  return part.join === 'none' ? filterTexts.wordsNone({ parts }) : parts
}

function lineWords(kind: BrowseKind, { field: name, operator, values, low, high }: Line, nameOf: NameOf): string {
  const field = fieldWords(name)
  const value = values.map((each) => valueWords(kind, name, each, nameOf)).join(filterTexts.or())
  if (operator === 'is') return filterTexts.wordsIs({ field, value })
  if (operator === 'isNot') return filterTexts.wordsNot({ field, value })
  if (operator === 'between') {
    if (low === '') return filterTexts.wordsUpTo({ field, high })
    return high === '' ? filterTexts.wordsFrom({ field, low }) : filterTexts.wordsBetween({ field, low, high })
  }
  if (operator === 'isTrue' || operator === 'isFalse') return filterTexts.wordsIs({ field, value: operatorWords(operator) })
  if (operator === 'isNull' || operator === 'isNotNull') return filterTexts.wordsBare({ field, operator: operatorWords(operator) })
  return filterTexts.wordsOther({ field, operator: operatorWords(operator), value: low })
}
