import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { openPool } from '#workers/pool/pool.ts'

t.test('a reading list is read in a thread', async (t) => {
  const pool = openPool({ threads: 1, memoryMbMax: 256, deadlineMs: 60_000 })
  t.teardown(() => pool.close())
  const small = Buffer.from('<ReadingList><Name>Events</Name><Books><Book Series="Saga" Number="1"/></Books></ReadingList>')
  t.same(await pool.readReadingList(small), { name: 'Events', entries: [{ series: 'Saga', number: '1', volume: '', year: '' }] })

  const markup = Buffer.from(`<ReadingList>${'<a b="c"/>'.repeat(190_000)}</ReadingList>`)
  let turns = 0
  let isDone = false
  const reading = pool.readReadingList(markup).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await nextTurn()
    turns++
  }
  t.ok(turns > 100, `the main thread took ${turns} turns meanwhile`)
  t.same(await reading, { name: '', entries: [] })
})

t.test('one that takes too long is refused, and the next one is read', async (t) => {
  const pool = openPool({ threads: 1, memoryMbMax: 256, deadlineMs: 1 })
  t.teardown(() => pool.close())
  const markup = Buffer.from(`<ReadingList>${'<a b="c"/>'.repeat(190_000)}</ReadingList>`)
  t.match(await pool.readReadingList(markup), { refused: /took longer than/ })
})
