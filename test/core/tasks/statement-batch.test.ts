import t from 'tap'
import { StatementBatch } from '#core/tasks/statement-batch.ts'

const refused = (code: string) => Object.assign(new Error('no'), { code })

t.test('items that are added during a statement go into the next one, in order', async (t) => {
  const statements: number[][] = []
  const batch = new StatementBatch<number, string>({
    run: async (items) => {
      statements.push([...items])
      await new Promise((resolve) => setImmediate(resolve))
      return items.map((item) => `#${item}`)
    },
    retries: async () => false,
  })
  const first = [batch.add(1), batch.add(2)]
  await new Promise((resolve) => setImmediate(resolve))
  const answers = await Promise.all([...first, batch.add(3), batch.add(4)])
  t.same(answers, ['#1', '#2', '#3', '#4'])
  t.same(statements, [
    [1, 2],
    [3, 4],
  ])
})

t.test('statements are retried while the database is unreachable, until the queue stops', async (t) => {
  let failures = 3
  let isWanted = true
  const batch = new StatementBatch<number, number>({
    run: async (items) => {
      if (failures-- > 0) throw refused('ECONNREFUSED')
      return items
    },
    retries: async () => isWanted,
  })
  t.equal(await batch.add(1), 1)
  failures = 1
  isWanted = false
  await t.rejects(Promise.all([batch.add(2), batch.add(3)]), { code: 'ECONNREFUSED' })
  t.equal(await batch.add(4), 4, 'and what comes later is asked for')
})

t.test('a value that the database rejects fails alone', async (t) => {
  const batch = new StatementBatch<number, number>({
    run: async (items) => {
      if (items.includes(2)) throw refused('22P05')
      return items
    },
    retries: async () => true,
  })
  const ends = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)))
  t.same(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})
