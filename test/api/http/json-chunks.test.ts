import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { jsonChunks, writeAhead } from '#api/http/json-chunks.ts'

t.test('it is what JSON.stringify writes', async () => {
  const plain = fc.oneof(fc.jsonValue(), fc.object({ withDate: true, maxDepth: 3 }), fc.array(fc.constantFrom(undefined, null, 1)))
  await fc.assert(
    fc.asyncProperty(plain, async (value) => {
      t.equal(Buffer.concat(await jsonChunks(value)).toString(), JSON.stringify(value))
    }),
    { numRuns: 200 },
  )
})

t.test('others have their turn while a large answer is written', async (t) => {
  const record = { summary: 'é'.repeat(40_000), people: Array.from({ length: 2_000 }, (_, index) => ({ name: `Person ${index}` })) }
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  await sleep(5)
  turns = 0
  const chunks = await jsonChunks({ data: Array(300).fill(record), total: 300 })
  clearInterval(timer)
  t.ok(turns > 5, `${turns} turns`)
  t.ok(chunks.every((chunk) => chunk.length < 2_000_000))
  t.same(JSON.parse(Buffer.concat(chunks).toString()), { data: Array(300).fill(record), total: 300 })
})

t.test('parts that were written ahead stand where they belong', async (t) => {
  const people = [{ name: 'é' }, { name: 'ß', of: { all: [1, 2] } }]
  const answer = { data: [await writeAhead(people[0]), await writeAhead(people[1])], one: await writeAhead(people), total: 2 }
  t.same(JSON.parse(Buffer.concat(await jsonChunks(answer)).toString()), { data: people, one: people, total: 2 })
  t.equal(Buffer.concat(await jsonChunks(await writeAhead('text'))).toString(), '"text"')
})
