import t from 'tap'
import type { Static } from 'typebox'
import { Value } from 'typebox/value'
import { fieldValues } from '#core/fields/field-members.ts'
import type { PatchOf, ValuesOf } from '#core/fields/record-kind.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { type BookMetadata, BookMetadataPatch } from '#core/metadata/book-metadata-schema.ts'

/** Accepts only a type that is neither wider nor narrower than the other one. */
type Same<One, Other> = [One, Other] extends [Other, One] ? true : false
const isSame = <_One extends true>(): true => true

t.test('requests, answers and values have the types of their fields', async (t) => {
  isSame<Same<Static<typeof BookMetadataPatch>['volume'], number | null | undefined>>()
  isSame<Same<Static<typeof BookMetadata>['languageIso'], string | null | undefined>>()
  isSame<Same<PatchOf['series']['year'], number | null | undefined>>()
  isSame<Same<ValuesOf['series']['status'], 'ongoing' | 'ended' | 'hiatus' | 'abandoned' | 'unknown' | undefined>>()
  // A people string is a view, which stores nothing.
  isSame<Same<'writer' extends keyof ValuesOf['book'] ? true : false, false>>()
  const patch: PatchOf['book'] = { writer: 'Moore', year: 1986, title: null }
  t.equal(patch.year, 1986)

  t.ok(Value.Check(BookMetadataPatch, { volume: 2, languageIso: null }))
  for (const wrong of [{ volume: '2' }, { volume: 2.5 }, { title: 'of the record' }, { unknown: 1 }])
    t.notOk(Value.Check(BookMetadataPatch, wrong))
})

t.test('missing values are null', async (t) => {
  const shown = fieldValues(SERIES_FIELDS, ({ name }) => (name === 'year' ? 1986 : null))
  t.equal(shown.year, 1986)
  t.same(
    Object.keys(shown),
    SERIES_FIELDS.map(({ name }) => name),
  )
  t.equal(shown.title, null)
})
