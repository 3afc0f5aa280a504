import t from 'tap'
import { passProtection } from '#core/metadata/protection-store.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.setTimeout(120_000)

interface Rated {
  age?: number
  /** Who gave it; a file that describes the series: `sidecar`. */
  by?: 'user' | 'embedded' | 'sidecar'
  /** A person has cleared it, and locked it so. */
  isCleared?: true
}

/** Series whose books come together in the first one, and the age that it has then, with its source. */
const CASES: {
  title: string
  from: Rated[]
  isChange?: boolean
  hides?: number
  to: [number | null, string | null]
  isLocked?: boolean
}[] = [
  { title: 'the age of a person passes on', from: [{}, { age: 16, by: 'user' }], to: [16, 'user'] },
  {
    title: 'a lower one does not',
    from: [
      { age: 18, by: 'embedded' },
      { age: 16, by: 'user' },
    ],
    to: [18, 'embedded'],
  },
  {
    title: 'the ages of files follow from the files',
    from: [
      { age: 6, by: 'embedded' },
      { age: 18, by: 'embedded' },
    ],
    to: [6, 'embedded'],
  },
  {
    title: 'they cannot where a person has given a lower one',
    from: [
      { age: 6, by: 'user' },
      { age: 18, by: 'embedded' },
    ],
    to: [18, 'user'],
  },
  {
    title: 'nor where the age of a person passes on',
    from: [
      { age: 6, by: 'embedded' },
      { age: 10, by: 'user' },
      { age: 18, by: 'embedded' },
    ],
    to: [18, 'user'],
  },
  { title: 'the file that describes a series does not move with the books', from: [{}, { age: 18, by: 'sidecar' }], to: [18, 'user'] },
  {
    title: 'that of the series wins over files of books',
    from: [
      { age: 6, by: 'sidecar' },
      { age: 18, by: 'embedded' },
    ],
    to: [18, 'user'],
  },
  { title: 'what has no age is hidden from nobody', from: [{ age: 6, by: 'user' }, {}], to: [6, 'user'] },
  { title: 'what has no age stays hidden', from: [{ age: 6, by: 'user' }, {}], hides: 13, to: [13, 'user'] },
  { title: 'what has no age stays hidden beside files with one', from: [{}, { age: 6, by: 'embedded' }], hides: 13, to: [13, 'user'] },
  { title: 'an age that hides all is enough', from: [{ age: 18, by: 'user' }, {}], hides: 13, to: [18, 'user'] },
  { title: 'without any age nothing is due', from: [{}, {}], hides: 13, to: [null, null] },
  {
    title: 'moved files',
    from: [
      { age: 6, by: 'user' },
      { age: 18, by: 'embedded' },
    ],
    isChange: false,
    hides: 13,
    to: [6, 'user'],
  },
  { title: 'what a person has cleared stays without an age', from: [{}, { isCleared: true }], hides: 13, to: [null, null], isLocked: true },
  {
    title: 'also where the books of several series come together',
    from: [{}, { isCleared: true }, {}],
    isChange: false,
    to: [null, null],
    isLocked: true,
  },
  {
    title: 'not where others have an age, and rules hide none of them',
    from: [{ age: 6, by: 'embedded' }, { isCleared: true }],
    to: [6, 'embedded'],
  },
  {
    title: 'what a person has cleared stays hidden beside files with an age',
    from: [{ age: 6, by: 'embedded' }, { isCleared: true }],
    isChange: false,
    hides: 13,
    to: [13, 'user'],
  },
  {
    title: 'a higher age stays',
    from: [{ age: 18, by: 'embedded' }, { isCleared: true }],
    isChange: false,
    hides: 13,
    to: [18, 'embedded'],
  },
]

t.test('the age of a series to which books come', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const { userId } = await addCaller(database)
  for (const { title, from, isChange = true, hides, to, isLocked } of CASES) {
    await setTestRule(database, { user_id: userId }, hides ? { age: { mode: 'not_from', years: hides, unrated: 'hide' } } : null)
    const ids: string[] = []
    for (const { age = null, by, isCleared } of from) {
      const id = await addSeries(database, { library_id: libraryId, title })
      ids.push(id)
      if (by === 'sidecar')
        await database('series')
          .where({ id })
          .update({ sidecar: JSON.stringify({ fields: { ageRating: age } }) })
      const sources = JSON.stringify(by ? { ageRating: by === 'sidecar' ? 'embedded' : by } : {})
      const locks = isCleared ? ['ageRating'] : []
      if (by || isCleared) await database('series_metadata').insert({ series_id: id, age_rating: age, sources, locks })
    }
    const [target] = ids as [string]
    await database.transaction((trx) =>
      passProtection(
        trx,
        ids.map((seriesId) => ({ seriesId, to: target })),
        { isChange },
      ),
    )
    const row = await database('series_metadata').where('series_id', target).first()
    t.same([row?.age_rating ?? null, row?.sources.ageRating ?? null], to, title)
    if (isLocked) t.same(row?.locks, ['ageRating'], `${title}: no file gives it one`)
  }
})

t.test('a tag that only shows what carries it passes on where all that comes together carries it', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const { userId } = await addCaller(database)
  const [tag] = await database('sharing_tags').insert({ name: 'Saga' }, 'id')
  await database('user_sharing_grants').insert({ user_id: userId, sharing_tag_id: tag.id, access_mode: 'allow' })
  const passes = async (carrying: readonly boolean[], isFresh: boolean) => {
    const ids: string[] = []
    for (const carries of carrying) {
      const id = await addSeries(database, { library_id: libraryId, title: 'Saga' })
      ids.push(id)
      if (carries) await database('series_sharing_tags').insert({ series_id: id, sharing_tag_id: tag.id })
    }
    const to = isFresh ? await addSeries(database, { library_id: libraryId, title: 'Saga' }) : (ids[0] as string)
    const moved = ids.map((seriesId) => ({ seriesId, to }))
    await database.transaction((trx) => passProtection(trx, moved, { isChange: false }))
    return (await database('series_sharing_tags').where('series_id', to)).length === 1
  }
  t.equal(await passes([true, true], true), true, 'to a new series of books that all carry it')
  t.equal(await passes([true, false], true), false, 'not to what others come to as well')
  t.equal(await passes([false, true], false), false, 'not to a series that stays hidden from them')
  t.equal(await passes([true, false], false), true, 'and what has it keeps it, as with any new file')
})
