import fc from 'fast-check'
import type { Knex } from 'knex'
import t from 'tap'
import { textSql } from '#migrations/baseline/search.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { testSeed } from '#test/support/timed-property.ts'

/** The text with bounded runs of marks, as the folding itself has it. */
const [, BOUNDED = ''] = /bounded := (regexp_replace\(given, .*\));/.exec(textSql()) ?? []

/** Documents in the plainest way: every text is folded and split alike. Those of the database must be the same for every text, which they make faster. */
const PLAIN = String.raw`
  CREATE FUNCTION plain_fold(given text) RETURNS text LANGUAGE sql AS $$
    SELECT replace(replace(replace(translate(normalize(regexp_replace(
      lower(normalize(${BOUNDED}, NFKD) COLLATE "und-x-icu"), '[\u0300-\u036f]', '', 'g'), NFC),
      'øłđıħŧ', 'oldiht'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe')
  $$;
  CREATE FUNCTION plain_words(given text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_remove(regexp_split_to_array(
      regexp_replace(plain_fold(given), '([\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+)', ' \1 ', 'g')
        COLLATE "und-x-icu", '[^[:alnum:]\u3005]+'), '')
  $$;
  CREATE FUNCTION plain_document(given text, weight "char") RETURNS tsvector LANGUAGE plpgsql AS $$
    BEGIN
      IF plain_fold(given) !~ '[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]' THEN
        RETURN setweight(to_tsvector('simple', regexp_replace(plain_fold(given) COLLATE "und-x-icu", '[^[:alnum:]]+', ' ', 'g')), weight);
      END IF;
      RETURN (SELECT coalesce(string_agg('''' || token || ''':' || least(place, 16383) || weight::text, ' '), '')::tsvector
        FROM (
          SELECT word AS token, place FROM unnest(plain_words(given)) WITH ORDINALITY AS w (word, place)
          WHERE word !~ '^[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]'
          UNION ALL
          SELECT sign || coalesce(lead(sign) OVER (PARTITION BY place ORDER BY at), ''), place
          FROM unnest(plain_words(given)) WITH ORDINALITY AS w (word, place)
          CROSS JOIN LATERAL string_to_table(word, NULL) WITH ORDINALITY AS s (sign, at)
          WHERE word ~ '^[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]'
        ) AS tokens WHERE length(token) <= 500);
    END
  $$;`

const WORDS = [
  'the',
  'Quick',
  'BROWN',
  'fox’s',
  "don't",
  'e.g.',
  'v2',
  '007',
  '1.5e3',
  '-3',
  'a_b',
  'C++',
  'x@y.org',
  'http://a.de/b?c=1&d',
  '1,000',
]
const MORE_WORDS = [
  'Straße',
  'élan',
  'ŁÓDŹ',
  'Æon',
  'Œuvre',
  'ıİIi',
  'ǅ',
  'ﬁne',
  'Привет',
  'Ωμέγα',
  'שלום',
  'عربي',
  'हिन्दी',
  'ไทย',
  '①②',
  '½',
  '🐉',
  'x\u0301\u0302',
]
const SIGNS = ['進撃の巨人', 'ｶﾞﾝﾀﾞﾑ', '한국어', '々', '中文2', 'ﾊﾟ', '가각', 'か\u3099']
const GAPS = [
  ' ',
  ' ',
  ' ',
  ' ',
  ', ',
  '. ',
  '-',
  ' – ',
  ': ',
  '/',
  '…',
  '\n',
  '\t',
  '\u00a0',
  ' (',
  ') ',
  '"',
  '; ',
  '! ',
  '?',
  '*',
  '&',
  '<b>',
  "'",
  '\u007f',
  '\u0001',
]

/** Words with gaps, of ASCII alone, with letters of other scripts, with runs without spaces, or both. */
const texts = (...words: string[]) =>
  fc.array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...GAPS)), { maxLength: 30 }).map((parts) => parts.flat().join(''))
const anyText = fc.oneof(
  texts(...WORDS),
  texts(...WORDS, ...MORE_WORDS),
  texts(...WORDS, ...SIGNS),
  texts(...WORDS, ...MORE_WORDS, ...SIGNS),
  fc.string({ unit: 'binary-ascii', maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
/** PostgreSQL stores no NUL. */
const randomTexts = (numRuns: number) => fc.sample(anyText, { numRuns, seed: testSeed }).map((text) => text.replaceAll('\0', ' '))

async function listDifferences(database: Knex, texts: readonly string[]): Promise<unknown[]> {
  const { rows } = await database.raw(
    `SELECT text, carrel_document(text, 'B')::text AS found, plain_document(text, 'B')::text AS wanted, carrel_fold(text) AS fold, plain_fold(text) AS "plainFold"
     FROM unnest(CAST(? AS text[])) AS text
     WHERE carrel_document(text, 'B') <> plain_document(text, 'B') OR carrel_fold(text) <> plain_fold(text) OR carrel_words(text) <> plain_words(text)`,
    [[...texts]],
  )
  return rows
}

t.test('every text has the document of the plain rule', async (t) => {
  const { database } = await openTestDatabase(t)
  await database.raw(PLAIN)
  const fixed = [
    '',
    ' ',
    '.',
    ...WORDS,
    ...MORE_WORDS,
    ...SIGNS,
    ...GAPS,
    WORDS.join(' '),
    WORDS.join('-'),
    MORE_WORDS.join(''),
    'x'.repeat(3_000),
  ]
  t.same(await listDifferences(database, fixed), [])
  t.same(await listDifferences(database, randomTexts(sizeOf('texts', { main: 1_000, full: 4_000 }))), [])
  // Every pair of ASCII characters between letters and between digits.
  const codes = Array.from({ length: 127 }, (_, index) => String.fromCharCode(index + 1))
  for (const one of codes)
    t.same(
      await listDifferences(
        database,
        codes.flatMap((other) => [`ab${one}${other}cd`, `12${one}${other}34 ${one}`]),
      ),
      [],
    )
  const { rows } = await database.raw(`SELECT carrel_document(NULL, 'A') AS document, carrel_fold(NULL) AS fold`)
  t.same(rows, [{ document: '', fold: null }], 'what is absent is like nothing')
})

t.test('documents are built when something in them has changed, and not otherwise', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const ids = await Promise.all(['One', 'Two', 'Three'].map((title) => addBook(database, { library_id, series_id, title })))
  // Counts how often a document is built, which happens once per book of a refresh.
  await database.raw(`
    CREATE SEQUENCE built;
    ALTER FUNCTION carrel_people RENAME TO carrel_people_of;
    CREATE FUNCTION carrel_refreshed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('built'); RETURN NEW; END $$;
    CREATE TRIGGER counted BEFORE INSERT ON book_search FOR EACH ROW EXECUTE FUNCTION carrel_refreshed();
    CREATE FUNCTION carrel_people(authors jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT carrel_people_of(authors)'`)
  const count = async (change: () => PromiseLike<unknown>) => {
    const read = async () =>
      Number((await database.raw('SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS count FROM built')).rows[0].count)
    const before = await read()
    await change()
    return (await read()) - before
  }
  const documentOf = async (id: string) =>
    (await database.raw('SELECT document::text FROM book_search WHERE book_id = ?', [id])).rows[0].document as string
  const books = (change: object) => database('books').whereIn('id', ids).update(change)
  const metadata = (change: object) => database('book_metadata').whereIn('book_id', ids).update(change)

  t.equal(await count(() => books({ state: 'analyzed', page_count: 7, file_hash: 'x', updated_at: new Date() })), 0, 'an analysis')
  t.equal(await count(() => books({ title: 'New' })), 3, 'titles')
  t.equal(await count(() => books({ title: 'New' })), 0, 'the same again')
  t.match(await documentOf(ids[0] as string), /'new':1A/)
  t.equal(await count(() => books({ title_sort: database.raw("CASE WHEN id = ? THEN 'Sort' END", [ids[1] as string]) })), 1, 'one of many')
  t.match(await documentOf(ids[1] as string), /'sort':2A/)
  const rows = ids.map((book_id) => ({ book_id, embedded: '{}', sources: '{}' }))
  t.equal(await count(() => database('book_metadata').insert(rows)), 0, 'metadata that is not searched')
  t.equal(await count(() => metadata({ summary: 'Told, again' })), 3)
  t.match(await documentOf(ids[2] as string), /'told':3/)
  t.equal(await count(() => metadata({ year: 1999, locks: ['year'] })), 0)
  t.equal(await count(() => database('series').where('id', series_id).update({ title: 'Walk' })), 3, 'the title of their series')
  const deleted_at = new Date()
  t.equal(await count(() => books({ deleted_at })), 0)
  t.same(await database('book_search').distinct('deleted_at').pluck('deleted_at'), [deleted_at])
})
