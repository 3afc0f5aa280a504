import t, { type Test } from 'tap'
import { listNamesOf } from '#core/metadata/taxonomy-query.ts'
import { quickestMs } from '#test/support/cpu-time.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'

/** Counting each tag once takes a fraction of this; counting it for every series that has it took more than ten times as long. */
const READ_MS_MAX = 10_000

/** Series of which each but one has each tag. Returns what lists the tags of all. */
async function openTagged(t: Test, { seriesCount, tagCount }: { seriesCount: number; tagCount: number }): Promise<() => Promise<void>> {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  for (const statement of [
    `INSERT INTO series (library_id, path, title) SELECT '${library_id}', n, 'Series ' || n FROM generate_series(1, ${seriesCount}) n`,
    `INSERT INTO tags (name, name_key) SELECT 'Tag ' || n, 'tag ' || n FROM generate_series(1, ${tagCount}) n`,
    `INSERT INTO series_tags (series_id, tag_id) SELECT s.id, t.id FROM series s, tags t`,
    'ANALYZE',
  ])
    await database.raw(statement)
  const seriesIds: string[] = await database('series').pluck('id')
  const [bare = ''] = seriesIds
  await database('series_tags').where({ series_id: bare }).delete()

  return async () => {
    const found = await listNamesOf(database, caller, { taxonomy: 'tag', kind: 'series', ids: seriesIds })
    t.equal(found.size, seriesCount - 1)
    t.notOk(found.has(bare))
    const [first] = found.values()
    t.same(
      first?.map(({ name }) => name),
      Array.from({ length: tagCount }, (_, index) => `Tag ${index + 1}`),
      'in natural order',
    )
    t.ok(first?.every((tag) => tag.seriesCount === seriesCount - 1))
  }
}

t.test('each tag of several series comes with the number of series that have it', async (t) => {
  const list = await openTagged(t, { seriesCount: 20, tagCount: 30 })
  await list()
})

t.test('names of many series are counted once', onlyCost, async (t) => {
  const tookMs = await quickestMs(READ_MS_MAX, await openTagged(t, { seriesCount: 400, tagCount: 300 }))
  t.ok(tookMs < READ_MS_MAX, `${Math.round(tookMs)} ms`)
})
