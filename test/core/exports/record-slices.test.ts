import t from 'tap'
import { type ExportRecord, exportWriterOf } from '#core/exports/export-format.ts'
import { recordSlices } from '#core/exports/record-slices.ts'

const large: ExportRecord = { kind: 'book', row: { book_name: 'x', summary: '*y* '.repeat(50_000) } }
const columns = { type: 'books' as const, fields: [], bookFields: ['book_name', 'summary'] as never }

for (const format of ['json', 'csv', 'md'] as const)
  t.test(`a page of large records is written in slices: ${format}`, async (t) => {
    const page = Array.from({ length: 40 }, () => large)
    const writer = exportWriterOf(format, columns)
    const whole = page.map((record) => writer.add(record)).join('')
    let turns = 0
    let isDone = false
    const count = () => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    const slices: string[] = []
    for await (const slice of recordSlices(exportWriterOf(format, columns), page)) slices.push(slice)
    isDone = true
    t.equal(slices.join(''), whole, 'the same text as in one piece')
    t.ok(slices.length >= 20, `in ${slices.length} slices`)
    t.ok(turns >= slices.length - 1, `with ${turns} turns for others`)
  })

t.test('small records are written in one slice', async (t) => {
  const page: ExportRecord[] = Array.from({ length: 20 }, () => ({ kind: 'book', row: { book_name: 'x', summary: 'y' } }))
  const slices: string[] = []
  for await (const slice of recordSlices({ add: () => 'x' }, page)) slices.push(slice)
  t.equal(slices.join(''), 'x'.repeat(20))
  t.ok(slices.length <= 2)
})
