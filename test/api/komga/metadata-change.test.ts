import t from 'tap'
import { readBookEdit, readSeriesEdit } from '#api/komga/metadata-change.ts'

const LOCKS = ['title', 'summary', 'number', 'numberSort', 'releaseDate', 'authors', 'tags', 'isbn', 'links']
const shown = {
  ...{ title: 'Emma', summary: '', number: '1', numberSort: 1, releaseDate: '1815-01-01', isbn: '9780141439587' },
  ...{ authors: [{ name: 'Jane Austen', role: 'writer' }], tags: ['a', 'b'], links: [], created: 'x', lastModified: 'x' },
  ...(Object.fromEntries(LOCKS.map((name) => [`${name}Lock`, false])) as { titleLock: boolean } & Record<string, boolean>),
} as unknown as Parameters<typeof readBookEdit>[1]['shown']
const of = {
  shown,
  authors: [{ name: 'Jane Austen', role: 'author' as const, sortName: 'Austen, Jane' }],
  isbns: '9780141439587,0141439580',
}

t.test('what a form sends back as it was shown changes nothing', async (t) => {
  t.same(readBookEdit({ ...shown }, of), { patch: {}, locks: {} })
  t.same(
    readBookEdit({ summary: null, links: null, tags: ['b', 'a'] }, of),
    { patch: {}, locks: {} },
    'nothing is nothing, and tags have no order',
  )
  t.same(readBookEdit({ title: null, number: null, numberSort: null }, of), { patch: {}, locks: {} }, 'what a book always has stays')
  t.same(readBookEdit({}, of), { patch: {}, locks: {} })
})

t.test('what is another value is changed', async (t) => {
  t.same(readBookEdit({ title: 'E', summary: 'S', number: '2.5', releaseDate: '2024-02-29' }, of).patch, {
    ...{ title: 'E', summary: 'S', number: 2.5, year: 2024, month: 2, day: 29 },
  })
  t.same(readBookEdit({ summary: null }, { ...of, shown: { ...shown, summary: 'S' } }).patch, { summary: null })
  t.same(readBookEdit({ releaseDate: null, tags: null, isbn: '' }, of), {
    ...{ patch: { year: null, month: null, day: null, isbns: null }, locks: {}, tags: [] },
  })
  t.same(readBookEdit({ isbn: '9783161484100' }, of).patch, { isbns: '9783161484100,0141439580' }, 'the others stay')
  t.same(readBookEdit({ number: '3', numberSort: 3 }, of).patch, { number: 3 })
  t.same(readBookEdit({ number: '3', numberSort: 1 }, of).patch, { number: 3 }, 'the one beside it is as it was shown')
  t.same(readBookEdit({ links: [{ label: 'anilist', url: 'https://anilist.co/1' }] }, of).links, [
    { source: 'anilist', url: 'https://anilist.co/1' },
  ])
})

t.test('people keep the role that they have here', async (t) => {
  const authors = [
    { name: 'Jane Austen', role: 'writer' },
    { name: 'Max', role: 'cover' },
    { name: 'Ute', role: 'Translator' },
  ]
  t.same(readBookEdit({ authors }, of).patch['authors'], [
    { name: 'Jane Austen', role: 'author', sortName: 'Austen, Jane' },
    { name: 'Max', role: 'cover_artist' },
    { name: 'Ute', role: 'translator' },
  ])
  t.throws(() => readBookEdit({ authors: [{ name: 'Max', role: 'lettering machine' }] }, of), {
    code: 'invalid_value',
    message: /authors\/0\/role is "lettering machine", which is no role of this server; the roles are .*cover.*writer/,
  })
})

t.test('an invalid value is refused with its member', async (t) => {
  const refused: [Parameters<typeof readBookEdit>[0], RegExp][] = [
    [{ number: 'Annual' }, /^The member number must be a number/],
    [{ number: '3', numberSort: 4 }, /numberSort differs from the member number/],
    [{ releaseDate: 'soon' }, /releaseDate must be a day/],
    [{ releaseDate: '2023-02-29' }, /releaseDate must be a day/],
    [{ isbn: '123' }, /isbn is no ISBN/],
    [{ releaseDate: '2024-13-01' }, /releaseDate must be a day/],
    [{ links: [{ label: 'Comic Vine', url: 'https://a.b' }] }, /links\/0\/label must be the name of a service/],
    [{ links: [{ label: 'a', url: 'javascript:alert(1)' }] }, /links\/0\/url must be an http/],
    [{ links: ['a', 'a'].map((label) => ({ label, url: 'https://a.b' })) }, /links\/1\/label is the name of another link too/],
  ]
  for (const [edit, message] of refused) t.throws(() => readBookEdit(edit, of), { code: 'invalid_value', message }, JSON.stringify(edit))
})

t.test('locks of the Komga API become locks of fields', async (t) => {
  t.same(readBookEdit({ titleLock: true, summaryLock: false }, of).locks, { titleLock: true })
  t.same(readBookEdit({ title: 'E', titleLock: false }, of).locks, { titleLock: false }, 'a lock counts if its value changes too')
  t.same(readBookEdit({ number: '3', numberLock: true, numberSort: 1, numberSortLock: false }, of).locks, { numberLock: true })
  t.same(readBookEdit({ releaseDateLock: true }, of).locks, { yearLock: true, monthLock: true, dayLock: true })
  t.same(readBookEdit({ releaseDate: '1815-12-23' }, of).locks, { yearLock: true, monthLock: true, dayLock: true }, 'the whole day')
  t.same(readBookEdit({ releaseDate: '1815-12-23', releaseDateLock: false }, of).locks, {
    yearLock: false,
    monthLock: false,
    dayLock: false,
  })
  t.same(
    readBookEdit({ tagsLock: true, linksLock: true }, of).locks,
    {},
    'tags and links have no locks: a machine never changes the entries of a person',
  )
})

t.test('changes of a series by the Komga API become changes of its fields', async (t) => {
  const series = {
    ...{
      status: 'ONGOING',
      title: 'Watch',
      titleSort: 'Watch',
      summary: '',
      readingDirection: 'RIGHT_TO_LEFT',
      publisher: 'DC',
      ageRating: null,
    },
    ...{
      language: 'en',
      genres: ['Drama'],
      tags: [],
      totalBookCount: null,
      sharingLabels: [],
      links: [],
      alternateTitles: [],
      statusLock: false,
    },
  } as unknown as Parameters<typeof readSeriesEdit>[1]
  t.same(readSeriesEdit({ ...series }, series), { patch: {}, locks: {} })
  t.same(readSeriesEdit({ status: 'ongoing', readingDirection: 'right_to_left' }, series).patch, {}, 'keywords are case-insensitive')
  t.same(
    readSeriesEdit({ status: 'Hiatus', readingDirection: 'WEBTOON', ageRating: 16, totalBookCount: 12, publisher: '' }, series).patch,
    {
      ...{ status: 'hiatus', readingDirection: 'webtoon', ageRating: 16, totalVolumeCount: 12, publisher: null },
    },
  )
  t.same(readSeriesEdit({ readingDirection: null }, series).patch, { readingDirection: null })
  t.match(readSeriesEdit({ genres: [], tags: ['x'], sharingLabels: ['kids'], alternateTitles: [{ label: 'ja', title: 'T' }] }, series), {
    ...{ patch: {}, genres: [], tags: ['x'], sharingLabels: ['kids'], alternateTitles: [{ label: 'ja', title: 'T' }] },
  })
  t.same(readSeriesEdit({ statusLock: true, totalBookCountLock: true }, series).locks, { status: true, totalVolumeCount: true })
  t.throws(() => readSeriesEdit({ status: 'paused' }, series), { message: /status must be one of ONGOING, ENDED, HIATUS, ABANDONED/ })
  t.throws(() => readSeriesEdit({ readingDirection: 'UP' }, series), { message: /readingDirection must be one of/ })
})
