import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { readTogether } from '#core/database/read-together.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

interface Row {
  id: string
  title: string
}

/** Reads titles, and records the ids of each statement. */
function reader(statements: string[][]) {
  return (database: Knex) => async (ids: string[]) => {
    statements.push(ids)
    return (await database('books').whereIn('id', ids).select('id', 'title')) as Row[]
  }
}

async function openBooks(t: Test) {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'S' })
  const ids: string[] = []
  for (let at = 0; at < 100; at++) ids.push(await addBook(database, { library_id, series_id, title: `T${at}` }))
  const statements: string[][] = []
  const run = reader(statements)
  const read = (id: string, from: Knex = database) => readTogether(from, 'title', id, run(from))
  return { database, ids, statements, run, read }
}

t.test('what is requested while a statement runs is read by the next one', async (t) => {
  const { ids, statements, read } = await openBooks(t)
  const first = read(ids[0] as string)
  await new Promise(setImmediate)
  const rows = await Promise.all([first, ...ids.map((id) => read(id)), read(randomUUID())])
  t.same(
    rows.map((row) => row?.title),
    ['T0', ...ids.map((_, at) => `T${at}`), undefined],
  )
  t.same(
    statements.map(({ length }) => length),
    [1, 64, 37],
    'a statement has at most 64 ids',
  )
  t.equal((await read(ids[5] as string))?.title, 'T5')
  t.equal(statements.length, 4)
})

t.test('a row is never older than the call', async (t) => {
  const { database, ids, read } = await openBooks(t)
  const [id] = ids as [string]
  for (let round = 0; round < 20; round++) {
    // Their statement may have been sent already.
    const others = Array.from({ length: 3 }, () => read(id))
    await database('books')
      .where({ id })
      .update({ title: `new ${round}` })
    const [own] = await Promise.all([read(id), ...others])
    t.equal(own?.title, `new ${round}`)
  }
})

t.test('a transaction reads what it has written, and nobody else does', async (t) => {
  const { database, ids, read } = await openBooks(t)
  const [id] = ids as [string]
  await database.transaction(async (trx) => {
    await trx('books').where({ id }).update({ title: 'changed' })
    const [inside, outside] = await Promise.all([read(id, trx), read(id)])
    t.same([inside?.title, outside?.title], ['changed', 'T0'])
  })
})

t.test('an error reaches all that wait for the statement, and none after it', async (t) => {
  const { database, ids, read } = await openBooks(t)
  const fails = () => Promise.reject(new Error('broken'))
  const failing = ids.slice(0, 3).map((id) => readTogether(database, 'title', id, fails))
  for (const one of await Promise.allSettled(failing)) t.match(one, { status: 'rejected', reason: { message: 'broken' } })
  t.equal((await read(ids[0] as string))?.title, 'T0')
})
