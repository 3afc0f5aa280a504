import t from 'tap'
import { listNamesOf } from '#core/metadata/taxonomy-query.ts'
import { quickestMs } from '#test/support/cpu-time.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'

const SERIES = 400
const TAGS = 300
/** Counting each tag once takes a fraction of this; counting it for every series that has it took more than ten times as long. */
const READ_MS_MAX = 10_000

t.test('names of many series are counted once', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  for (const statement of [
    `INSERT INTO series (library_id, path, title) SELECT '${library_id}', n, 'Series ' || n FROM generate_series(1, ${SERIES}) n`,
    `INSERT INTO tags (name, name_key) SELECT 'Tag ' || n, 'tag ' || n FROM generate_series(1, ${TAGS}) n`,
    `INSERT INTO series_tags (series_id, tag_id) SELECT s.id, t.id FROM series s, tags t`,
    'ANALYZE',
  ])
    await database.raw(statement)
  const seriesIds: string[] = await database('series').pluck('id')
  const [bare = ''] = seriesIds
  await database('series_tags').where({ series_id: bare }).delete()

  let found: Awaited<ReturnType<typeof listNamesOf>> = new Map()
  const tookMs = await quickestMs(READ_MS_MAX, async () => {
    found = await listNamesOf(database, caller, { taxonomy: 'tag', kind: 'series', ids: seriesIds })
  })
  t.comment(`${Math.round(tookMs)} ms`)
  t.ok(tookMs < READ_MS_MAX)
  t.equal(found.size, SERIES - 1)
  t.notOk(found.has(bare))
  const [first] = found.values()
  t.same(
    first?.map(({ name }) => name),
    Array.from({ length: TAGS }, (_, index) => `Tag ${index + 1}`),
    'in natural order',
  )
  t.ok(first?.every(({ seriesCount }) => seriesCount === SERIES - 1))
})
