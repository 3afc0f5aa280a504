import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { analyzeBook } from '#core/analysis/analyze-book.ts'
import { handleThumbnails } from '#core/analysis/thumbnails.ts'
import { coverHashOf } from '#core/covers/book-cover-files.ts'
import { coverPath } from '#core/covers/cover.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

const coverOf = (text: string) => ({ jpeg: Buffer.from(`cover of ${text}`), width: 1, height: 1, color: '#804020' })

/** The cover of each file; `seen` lists what was read, in order, and `during` runs in the middle of reading. */
function reading(seen: string[], during: () => Promise<void> = async () => {}) {
  return async (path: string) => {
    const text = readFileSync(path, 'utf8')
    const file = factsOfFile(path)
    seen.push(text)
    await during()
    return { file, cover: coverOf(text) }
  }
}

async function openShelf(t: Test) {
  const analyze: Analyze = async ({ path }) => fakeAnalysis(await reading([])(path))
  const fixture = await openLibraryFixture(t, { analyze })
  fixture.put('a.cbz', 'the first')
  await fixture.scan()
  const { database, dataFolder } = fixture
  const { id } = (await fixture.books()).get('a.cbz') as { id: string }
  const run = (handler: TaskHandler, type: TaskRun['type'], params = {}) =>
    handler({
      ...{ id: randomUUID(), type, bookId: id, params, attempt: 1, progress: () => {} },
      signal: new AbortController().signal,
    })
  const analyzes = (analyze: Analyze) => () => run(analyzeBook({ database, dataFolder, log: silentLog, analyze }), 'analyze_book')
  const draws = (draw: ReturnType<typeof reading>) => {
    const handlers = new Map<string, TaskHandler>()
    const tasks = { handle: (type: string, _options: object, handler: TaskHandler) => handlers.set(type, handler) } as unknown as TaskQueue
    const drawBookCover = async ({ path }: { path: string }) => ({ cover: (await draw(path)).cover, problem: null })
    handleThumbnails({ database, tasks, drawBookCover, settings: { dataFolder, workers: 1 } })
    const order = { force: true, since: new Date(Date.now() + 60_000).toISOString() }
    return () => run(handlers.get('generate_thumbnail') as TaskHandler, 'generate_thumbnail', order)
  }
  /** The stored cover is that of this text, and the one that the row names. */
  const shows = async (text: string, said: string) => {
    const bytes = readFileSync(coverPath(dataFolder, id))
    const { cover_hash: hash } = await database('books').where({ id }).first('cover_hash')
    t.same([bytes.toString(), hash], [`cover of ${text}`, coverHashOf(bytes)], said)
  }
  return { ...fixture, id, analyze, analyzes, draws, shows }
}

/** Locks the row of a book until another connection waits for it, does what is given in the meantime, and releases the lock. */
async function whileWaitedFor(database: Knex, bookId: string, work: () => Promise<unknown>, meanwhile: (trx: Knex) => Promise<void>) {
  const working: { done?: Promise<unknown> } = {}
  await database.transaction(async (trx) => {
    await trx('books').where({ id: bookId }).forUpdate().first('id')
    working.done = work()
    await until(async () => {
      const waits = await database.raw(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
      return waits.rows.length > 0
    })
    await meanwhile(trx)
  })
  return await working.done
}

t.test('a thumbnail that was rendered from an older version of the file is not stored', async (t) => {
  const { id, put, analyze, analyzes, draws, shows, database } = await openShelf(t)
  await shows('the first', 'as the analysis drew it')
  const seen: string[] = []
  const whileReplaced = async () => {
    put('a.cbz', 'the second file')
    await analyzes(analyze)()
  }
  t.match(await draws(reading(seen, whileReplaced))(), { made: 0, failed: 1 })
  t.same(seen, ['the first'])
  await shows('the second file', 'a newer one was analyzed while it was drawn')

  const draw = draws(reading(seen))
  const outcome = await whileWaitedFor(database, id, draw, async () => {
    put('a.cbz', 'the third file, longer')
  })
  t.match(outcome, { made: 0, failed: 1 })
  t.same(seen, ['the first', 'the second file'])
  await shows('the second file', 'a newer one came before it was kept: the scan will find it')
  await analyzes(analyze)()
  await shows('the third file, longer', 'found')
  t.match(await draws(reading(seen))(), { made: 1, failed: 0 })
  await shows('the third file, longer', 'drawn again')
})

t.test('an analysis of an older version writes neither its cover nor its row', async (t) => {
  const { id, put, analyze, analyzes, shows, database } = await openShelf(t)
  put('a.cbz', 'the second file')
  const seen: string[] = []
  const read = reading(seen)
  const analyzeAgain = analyzes(async ({ path }) => fakeAnalysis(await read(path)))
  await whileWaitedFor(database, id, analyzeAgain, async () => {
    put('a.cbz', 'the third file, longer')
  })
  t.same(seen, ['the second file', 'the third file, longer'], 'it was analyzed again')
  await shows('the third file, longer', 'the cover of the current file')

  // Both for one file concurrently, and one of them late: the cover that is stored last is the one that is shown.
  put('a.cbz', 'the fourth')
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = reading(seen, () => held)
  const late = analyzes(async ({ path }) => fakeAnalysis(await slow(path)))()
  await until(() => seen.includes('the fourth'))
  put('a.cbz', 'the fifth, which is the last')
  await analyzes(analyze)()
  await shows('the fifth, which is the last', 'the one in time')
  release()
  await late
  await shows('the fifth, which is the last', 'and it stays')
})
