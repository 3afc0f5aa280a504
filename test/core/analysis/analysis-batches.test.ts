import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { AnalysisBatches } from '#core/analysis/analysis-batches.ts'
import type { AnalysisEnd } from '#core/analysis/book-store.ts'

interface Item {
  key: string
  cost?: number
}

const written = (bookId: string): AnalysisEnd => ({ kind: 'written', bookId, seriesId: '', changed: [], due: [] })

/** Batches that record what is written. */
function openBatches(
  together: (items: readonly Item[], call: number) => Promise<AnalysisEnd[]>,
  alone?: (item: Item) => Promise<string>,
  isMoreComing = () => false,
) {
  const [batches, lonely] = [[] as string[][], [] as string[]]
  const opened = new AnalysisBatches<Item>({
    together: async (items) => {
      batches.push(items.map(({ key }) => key))
      return await together(items, batches.length)
    },
    alone: async (item) => {
      lonely.push(item.key)
      return written(alone ? await alone(item) : `${item.key} alone`)
    },
    keyOf: ({ key }) => key,
    costOf: ({ cost = 1 }) => cost,
    costMax: 10,
    enough: 32,
    isMoreComing,
  })
  const add = async (key: string, cost?: number) => {
    const end = await opened.add({ key, ...(cost !== undefined && { cost }) })
    return end.kind === 'written' ? end.bookId : end.kind
  }
  return { batches, lonely, add }
}

const answered = async (items: readonly Item[]): Promise<AnalysisEnd[]> => items.map(({ key }) => written(key))

t.test('what comes at about the same time is written together, one key only once', async (t) => {
  const { batches, lonely, add } = openBatches(answered)
  t.same(await Promise.all(['a', 'b', 'a', 'c'].map((key) => add(key))), ['a', 'b', 'a', 'c'])
  t.same(batches, [['a', 'b', 'c'], ['a']])
  t.same(lonely, [])
})

t.test('what comes while a batch is written goes into the next one', async (t) => {
  const begun = Promise.withResolvers<void>()
  const { batches, add } = openBatches(async (items) => {
    begun.resolve()
    await sleep(60)
    return answered(items)
  })
  const first = add('a')
  await begun.promise
  // The pause begins first: its timer then ends before that of the batch, however late.
  await Promise.all([first, sleep(30).then(() => add('c')), add('b')])
  t.same(batches, [['a'], ['b', 'c']])
})

t.test('while others are on their way, a batch waits for them, but not for more than enough', async (t) => {
  let isMoreComing = true
  const { batches, add } = openBatches(answered, undefined, () => isMoreComing)
  const first = add('a')
  // Longer than a batch waits for others of about the same time.
  await sleep(100)
  t.same(batches, [], 'it waits longer than for those of about the same time')
  isMoreComing = false
  // Timers end in their order, however late.
  t.same(await Promise.race([Promise.all([first, add('b')]), sleep(100)]), ['a', 'b'], 'and not after the last of them')
  t.same(batches, [['a', 'b']])

  isMoreComing = true
  t.equal(await Promise.race([add('c'), sleep(2_000)]), 'c', 'in the end it is written without them')
  const many = openBatches(answered, undefined, () => true)
  await Promise.all(Array.from({ length: 40 }, (_, index) => many.add(`${index}`, 0)))
  t.same(
    many.batches.map(({ length }) => length),
    [40],
    'what comes in one turn goes together',
  )
})

t.test('the cost and the number of items of a batch are bounded', async (t) => {
  const { batches, add } = openBatches(answered)
  await Promise.all([add('a', 6), add('b', 6), add('c', 4), add('d', 50)])
  t.same(batches, [['a', 'c'], ['b'], ['d']])
  const many = openBatches(answered)
  await Promise.all(Array.from({ length: 150 }, (_, index) => many.add(`${index}`, 0)))
  t.ok(many.batches.every((keys) => keys.length <= 64))
  t.equal(many.batches.flat().length, 150)
})

t.test('an item that fails does not fail the others', async (t) => {
  const { batches, lonely, add } = openBatches(
    async () => {
      throw new Error('the transaction was rolled back')
    },
    async ({ key }) => {
      if (key === 'b') throw new Error('b cannot be written')
      return key
    },
  )
  const ends = await Promise.allSettled(['a', 'b', 'c'].map((key) => add(key)))
  t.match(ends, [{ value: 'a' }, { reason: { message: 'b cannot be written' } }, { value: 'c' }])
  t.same([batches, lonely], [[['a', 'b', 'c']], ['a', 'b', 'c']])
})

t.test('an item whose rows are held is tried again with others, and at last waits alone', async (t) => {
  const { batches, lonely, add } = openBatches(async (items, call) =>
    items.map(({ key }) => {
      if (key === 'held' || (key === 'briefly' && call === 1)) return { kind: 'busy' }
      return key === 'moved' ? { kind: 'alone' } : written(key)
    }),
  )
  const ends = await Promise.all(['a', 'held', 'briefly', 'moved'].map((key) => add(key)))
  t.same(ends, ['a', 'held alone', 'briefly', 'moved alone'])
  t.same(batches, [['a', 'held', 'briefly', 'moved'], ['held', 'briefly'], ['held']])
  t.same(lonely, ['moved', 'held'])
})

t.test('neither a batch that waits nor an item that waits alone keeps the others', async (t) => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { add } = openBatches(
    async (items) => {
      begun.resolve()
      if (items.some(({ key }) => key === 'slow')) await held.promise
      return items.map(({ key }) => (key === 'alone' ? { kind: 'alone' } : written(key)))
    },
    async () => {
      await held.promise
      return 'at last'
    },
  )
  const slow = add('slow')
  await begun.promise
  const alone = add('alone')
  t.equal(await add('a'), 'a')
  t.equal(await add('b'), 'b')
  held.resolve()
  t.same(await Promise.all([slow, alone]), ['slow', 'at last'])
})
