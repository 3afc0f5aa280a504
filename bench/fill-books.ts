import type { Client } from 'pg'

/** Books in each generated series. */
export const BOOKS_PER_SERIES = 20
const LIBRARIES = 20
/** @param n counts from 1 */
export const filledLibrary = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
/** Sharing tags, each of one series in a hundred. */
export const FILLED_TAGS = [filledLibrary(101), filledLibrary(102)] as const
/** A quarter of the series is for six years and older, and another quarter for eighteen. */
const AGE = `CASE abs(hashtext('age ' || path)) % 4 WHEN 0 THEN 6 WHEN 1 THEN 18 END`

const TITLE = `(ARRAY['Silent', 'Golden', 'Broken', 'Hidden', 'Last', 'Iron'])[1 + n % 6] || ' ' || (ARRAY['Garden', 'Empire', 'River', 'Mask'])[1 + n / 6 % 4] || ' ' || n`
/** Of the i-th book of all. "dragon" is in every fifth, "quokka" in some twenty. */
const summaryOf = (books: number) => `'A story about people in a city, told in pictures, part ' || 1 + i % ${BOOKS_PER_SERIES}
  || CASE WHEN i % 5 = 0 THEN ', with a dragon' ELSE '' END || CASE WHEN i % ${Math.max(1, Math.floor(books / 20))} = 0 THEN ' and a quokka' ELSE '' END`

/** All columns of a cover: a task would look for the files of those that nobody has measured, on the cores that a benchmark measures. */
const covered = (value: string) => `CASE WHEN i % 100 > 0 THEN ${value} END`

/**
 * The statements that fill a database. Triggers are off and indexes are built at the end; documents of the search are put together from parts that
 * many books share, in the way in which the triggers write them.
 */
function statementsOf(series: number): string[] {
  const books = series * BOOKS_PER_SERIES
  return [
    ...Array.from(
      { length: LIBRARIES },
      (_, at) => `INSERT INTO libraries (id, name, path) VALUES ('${filledLibrary(at + 1)}', 'Bench ${at + 1}', '/bench/${at + 1}')`,
    ),
    `INSERT INTO series (library_id, path, title)
       SELECT CAST('${filledLibrary(0).slice(0, 24)}' || lpad(to_char(1 + n % ${LIBRARIES}, 'FM99'), 12, '0') AS uuid), 'series ' || n, ${TITLE}
       FROM generate_series(1, ${series}) n`,
    `INSERT INTO series_metadata (series_id, age_rating) SELECT id, ${AGE} FROM series WHERE ${AGE} IS NOT NULL`,
    ...FILLED_TAGS.flatMap((id, at) => [
      `INSERT INTO sharing_tags (id, name) VALUES ('${id}', 'Kept away ${at}')`,
      `INSERT INTO series_sharing_tags (series_id, sharing_tag_id) SELECT id, '${id}' FROM series WHERE abs(hashtext('tag ' || path)) % 100 = ${at}`,
    ]),
    `CREATE TEMP TABLE filled AS SELECT gen_random_uuid() AS id, s.library_id, s.id AS series_id, s.path, i, 1 + i % ${BOOKS_PER_SERIES} AS number
       FROM generate_series(0, ${books - 1}) i
         JOIN (SELECT id, library_id, path, row_number() OVER (ORDER BY substr(path, 8)::int) - 1 AS at FROM series) s ON s.at = i / ${BOOKS_PER_SERIES}`,
    `INSERT INTO books (id, library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, file_hash, reader_hash, state, page_count, title,
         number, released, cover_hash, cover_width, cover_height, cover_color, created_at, updated_at)
       SELECT id, library_id, series_id, '/bench/' || path || '/' || number || '.cbz', number || '.cbz', 'cbz', 1000000 + i % 5000000, 1,
         md5(path || number) || md5(number || path), md5(path || number), 'analyzed', 20 + number, 'Chapter ' || number, number, make_date(1980 + i % 40, 1, 1),
         ${["md5('cover ' || i)", '300', '425', "'#a03c1e'"].map(covered).join()}, now() - make_interval(secs => i), now() - make_interval(secs => i) FROM filled`,
    `INSERT INTO book_metadata (book_id, year, publisher, authors, summary) SELECT id, 1980 + i % 40, 'House ' || i % 50,
       jsonb_build_array(jsonb_build_object('name', 'Writer ' || i % 500, 'role', 'writer')), ${summaryOf(books)} FROM filled`,
    `INSERT INTO genres (name, name_key) SELECT 'Genre ' || n, 'genre ' || n FROM generate_series(1, 20) n`,
    `INSERT INTO series_genres SELECT s.id, g.id FROM series s JOIN genres g ON g.name = 'Genre ' || (1 + abs(hashtext(s.path)) % 20)`,
    `INSERT INTO people (name, name_key) SELECT 'Writer ' || n, 'writer ' || n FROM generate_series(0, 499) n`,
    `INSERT INTO book_people (book_id, position, person_id, role) SELECT f.id, 0, p.id, 'writer' FROM filled f JOIN people p ON p.name_key = 'writer ' || f.i % 500`,
    `INSERT INTO read_progress (user_id, book_id, current_page, completed) SELECT u.id, f.id, 1, f.number < 4 FROM (SELECT id FROM users LIMIT 1) u, filled f WHERE f.number < 6`,
    `INSERT INTO book_search (book_id, library_id, series_id, document)
       WITH series_part AS MATERIALIZED (SELECT id, carrel_document(title, 'B') AS document FROM series),
         title AS MATERIALIZED (SELECT n, carrel_document('Chapter ' || n, 'A') AS document FROM generate_series(1, ${BOOKS_PER_SERIES}) n),
         maker AS MATERIALIZED (SELECT n, carrel_document('Writer ' || n || ' House ' || n % 50, 'C') AS document FROM generate_series(0, 499) n),
         summary AS MATERIALIZED (SELECT summary, carrel_document(summary, 'D') AS document FROM (SELECT DISTINCT ${summaryOf(books)} AS summary FROM filled) AS s)
       SELECT f.id, f.library_id, f.series_id, title.document || series_part.document || maker.document || summary.document
       FROM filled f JOIN series_part ON series_part.id = f.series_id JOIN title ON title.n = f.number JOIN maker ON maker.n = f.i % 500
         JOIN summary ON summary.summary = ${summaryOf(books)}`,
    `INSERT INTO series_search (series_id, document) SELECT id, carrel_document(title, 'A') FROM series`,
    `INSERT INTO kept_number_changes SELECT 'books_' || state, library_id, count(*) FROM books GROUP BY state, library_id`,
    'INSERT INTO series_numbers_due SELECT id FROM series',
    'DROP TABLE filled',
  ]
}

const FILLED = [
  'libraries',
  'series',
  'books',
  'book_metadata',
  'series_metadata',
  'series_genres',
  'book_people',
  'read_progress',
  'book_search',
  'series_search',
]

/** Fills an empty database with series of {@link BOOKS_PER_SERIES} books each, in {@link LIBRARIES} libraries. @returns the seconds that it took */
export async function fillBooks(client: Client, series: number, computeDue: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await client.query('SET statement_timeout = 0')
  await client.query(`SET maintenance_work_mem = '512MB'`)
  const names = FILLED.map((name) => `'${name}'`).join()
  const { rows: indexes } = await client.query<{ name: string; sql: string }>(
    `SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE schemaname = current_schema() AND tablename IN (${names})
       AND indexname NOT IN (SELECT conname FROM pg_constraint)`,
  )
  for (const table of FILLED) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  for (const statement of statementsOf(series)) await client.query(statement)
  for (const { sql } of indexes) await client.query(sql)
  for (const table of FILLED) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`)
  await client.query('VACUUM ANALYZE')
  // Computed by the first request that meets them otherwise, which is not what is measured.
  await computeDue()
  return (performance.now() - begun) / 1000
}
