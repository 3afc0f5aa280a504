import t from 'tap'
import { proposalOf } from '#core/matching/answer-to-proposal.ts'

const PROVIDER = { idKey: 'plugin:anilist', pluginKey: 'org.example.anilist', idNames: new Set(['anilist', 'goodreads']) }

t.test('invalid members are left out, all others are proposed', async (t) => {
  const { values, sets } = proposalOf(
    'series',
    {
      ...{
        externalId: '1',
        title: ' Nana\n',
        language: 'no language!',
        year: 2000,
        ageRating: 18,
        totalVolumeCount: 21,
        summary: '',
      },
      authors: [{ name: ' Ai Yazawa ' }, { name: ' ' }],
      genres: ['Drama', 'Drama', ''],
      externalIds: { mal: '28', goodreads: '5', anilist: 'no', 'plugin:other': 'x', 'plugin:': 'x', Bad: 'y', __proto__x: 'z' },
      alternateTitles: [{ title: 'ナナ', language: 'ja' }],
      rating: { score: 80 },
    },
    PROVIDER,
  )
  t.same(values, { title: 'Nana', year: 2000, ageRating: 18, totalVolumeCount: 21, authors: [{ name: 'Ai Yazawa', role: 'author' }] })
  t.same(sets.genres, ['Drama'])
  const ids = Object.fromEntries((sets.externalIds ?? []).map(({ source, externalId }) => [source, externalId]))
  t.same(ids, { mal: '28', 'plugin:anilist': '1' }, 'its own, and those of services that no plugin uses')
  t.same(sets.externalRatings, [{ source: 'plugin:anilist', rating: 80, voteCount: null }])
  t.same(sets.alternateTitles, [{ title: 'ナナ', label: 'ja' }])
})

t.test('books: ISBNs are checked, and the language has its own name', async (t) => {
  const { values, sets } = proposalOf(
    'book',
    { externalId: '1', isbns: '978-0-441-17271-9, 123', language: 'en', subjects: ['Sand'], tags: [] },
    PROVIDER,
  )
  t.same(values, { isbns: '9780441172719', languageIso: 'en', subjects: ['Sand'] })
  t.equal(sets.tags, undefined)
})

t.test('identifiers are trimmed, and those of this server and of files are dropped', async (t) => {
  const externalIds = { 'plugin:carrel': '1', carrel: '2', comicinfo: '3', 'plugin:comicinfo': '4', mal: ' 5 ', other: '  ' }
  t.same(proposalOf('series', { externalId: ' 7 ', externalIds }, PROVIDER).sets.externalIds, [
    { source: 'mal', externalId: '5', externalUrl: null },
    { source: 'plugin:anilist', externalId: '7', externalUrl: null },
  ])
  t.same(proposalOf('series', { externalId: ' ' }, PROVIDER).sets.externalIds, [])
})

t.test('an identifier that other plugins could read has the form of identifiers', (t) => {
  const good = [
    '30013',
    'OL45804W',
    '978-0-441-17271-9',
    'b1a7c0de-0000-4000-8000-000000000000',
    '4050-1234',
    'one_piece',
    'x:1.2~3',
    '-a',
    'One Piece',
    '漫画',
  ]
  const bad = [
    '../account/delete?confirm=1',
    '1/2',
    '1?a',
    '1#a',
    '1%2e',
    '..',
    '.',
    '.a',
    '1\\2',
    '1&a=b',
    '1\n2',
    "1'",
    '1"',
    '{1}',
    ':80',
  ]
  const stored = (externalId: string, pluginKey: string) =>
    proposalOf('series', { externalId, externalIds: { mal: externalId } }, { ...PROVIDER, pluginKey }).sets.externalIds?.map(
      (one) => one.source,
    )
  for (const id of good) t.same(stored(id, 'org.example.b'), ['mal', 'plugin:anilist'], id)
  for (const id of [...bad, 'x'.repeat(101)]) t.same(stored(id, 'org.example.b'), [], id)
  t.same(stored('1:Two words?', 'anilist'), ['plugin:anilist'], 'what only the plugin itself writes may have any form')
  t.end()
})
