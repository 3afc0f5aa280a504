import type { TSchema } from 'typebox'
import Type from 'typebox'
import { FILTER_FIELDS } from '#core/catalog/filter-column-query.ts'
import { type Family, type FilterField, OPERATORS, VALUE_LENGTH_MAX, VALUES_MAX } from '#core/catalog/list-condition.ts'
import { AnyNumber, describedAs, FreeObject, OneOf, Uuid } from '#core/foundation/schema.ts'

const Text = Type.String({ maxLength: VALUE_LENGTH_MAX })
const Day = Type.String({ maxLength: 40, description: 'A day such as 2024-02-29, or a time such as 2024-02-29T12:00:00Z.' })
const Ids = Type.Array(Uuid, { maxItems: VALUES_MAX })

/** What the operators of a family take: nothing, one value, many, or a range. */
const MEMBERS: Record<Exclude<Family, 'word' | 'bool'>, Record<string, TSchema>> = {
  text: { value: Text },
  uuid: { value: Uuid, values: Ids },
  number: { value: AnyNumber(), min: Type.Optional(AnyNumber()), max: Type.Optional(AnyNumber()) },
  date: { value: Day, start: Type.Optional(Day), end: Type.Optional(Day) },
}
const NAMES: Record<Exclude<Family, 'word'>, string> = {
  text: 'TextComparison',
  uuid: 'IdComparison',
  bool: 'FlagComparison',
  number: 'NumberComparison',
  date: 'DateComparison',
}
const BARE = ['isNull', 'isNotNull', 'isTrue', 'isFalse']
const MANY = ['in', 'notIn']

/** The comparison of a field, in one form for each kind of value that its operators have beside them. */
function comparisonOf({ family, words }: FilterField): TSchema {
  if (family === 'word') return Type.Object({ operator: OneOf(OPERATORS.word), value: words ? OneOf(words as [string]) : Text })
  const members = family === 'bool' ? {} : MEMBERS[family]
  const { value, values, ...range } = members
  const all: readonly string[] = OPERATORS[family]
  const forms: [operators: string[], members: Record<string, TSchema>][] = [
    [all.filter((one) => !BARE.includes(one) && !MANY.includes(one) && one !== 'between'), value ? { value } : {}],
    [all.filter((one) => MANY.includes(one)), values ? { values } : {}],
    [all.filter((one) => one === 'between'), range],
    [all.filter((one) => BARE.includes(one)), {}],
  ]
  const used = forms.filter(([operators]) => operators.length > 0)
  const shapes = used.map(([operators, own]) => Type.Object({ operator: OneOf(operators as [string]), ...own }))
  const [only, ...others] = shapes
  return others.length === 0 && only ? { ...only, title: NAMES[family] } : Type.Union(shapes, { title: NAMES[family] })
}

/** The grammar of `readCondition` as a schema, which refers to itself. */
function grammarOf(title: string, fields: Readonly<Record<string, FilterField>>): TSchema {
  const itself = Type.Unsafe({ $ref: `#/components/schemas/${title}` })
  const group = (member: string, of: TSchema) => Type.Object({ [member]: of })
  return Type.Union(
    [
      group('allOf', Type.Array(itself)),
      group('anyOf', Type.Array(itself)),
      group('not', itself),
      ...Object.entries(fields).map(([name, field]) => group(name, comparisonOf(field))),
    ],
    { title, description: 'Exactly one member: a group of conditions, or a field with its comparison.' },
  )
}

/** The condition of a list of books. */
export const BookCondition = describedAs(FreeObject(), grammarOf('BookCondition', FILTER_FIELDS.books))
/** The condition of a list of series. */
export const SeriesCondition = describedAs(FreeObject(), grammarOf('SeriesCondition', FILTER_FIELDS.series))
