import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fileAt } from '#test/support/file-at.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { describePdfFile } from '#workers/formats/pdf/pdf.ts'
import { documentOf, readDescription, writeDescription } from '#workers/formats/pdf/pdf-description.ts'

const folder = t.testdir()

t.test('a description arrives as it was sent', async (t) => {
  const path = join(folder, 'sound.pdf')
  writeFileSync(path, buildPdf({ pages: [{ width: 600, height: 300 }, {}], title: '"\\\u2028 \ud800 🥚' }))
  const described = await describePdfFile(fileAt(path))
  if ('problem' in described) throw new Error(described.problem.message)
  t.same(described.sizes[0], [1250, 625])
  const arrived = readDescription(writeDescription(described))
  t.same(arrived, described)
  t.same(arrived && !('problem' in arrived) && documentOf(arrived), documentOf(described))

  const broken = join(folder, 'broken.pdf')
  writeFileSync(broken, '%PDF-1.7\n%%EOF')
  const refused = await describePdfFile(fileAt(broken))
  t.match(refused, { problem: { type: 'parser', fatal: true } })
  t.same(readDescription(writeDescription(refused)), refused)
})

t.test('a description that no intact process sends is refused', async (t) => {
  const texts = { info: { Title: 'T' }, xmp: { 'dc:title': ['T'] }, damage: null }
  const good = { pageCount: 2, miscounted: false, sizes: [[10, 20], null], damaged: { count: 1, first: [{ page: 2, reason: 'r' }] }, texts }
  const read = (value: unknown) => readDescription(Buffer.from(JSON.stringify(value)))
  t.same(read(good), good)
  const bad: Record<string, unknown> = {
    'no pages': { ...good, pageCount: 0 },
    'more pages than any book has': { ...good, pageCount: 100_001 },
    'a part of a page': { ...good, pageCount: 1.5 },
    'a page count in words': { ...good, pageCount: '2' },
    'more sizes than are read': { ...good, sizes: Array.from({ length: 5_001 }, () => null) },
    'a side that is no number': { ...good, sizes: [['10', 20]] },
    'no width': { ...good, sizes: [[0, 20]] },
    'three sides': { ...good, sizes: [[1, 2, 3]] },
    'more damaged pages than are listed': {
      ...good,
      damaged: { count: 999, first: Array.from({ length: 999 }, () => ({ page: 1, reason: '' })) },
    },
    'damage without a reason': { ...good, damaged: { count: 1, first: [{ page: 1 }] } },
    'no texts': { ...good, texts: null },
    'a text that is none': { ...good, texts: { ...texts, info: { Title: 1 } } },
    'a field that is not read': { ...good, texts: { ...texts, info: { Other: 'x' } } },
    'values that are no list': { ...good, texts: { ...texts, xmp: { 'dc:title': 'T' } } },
    'a problem of another type': { problem: { type: 'other', message: 'm' } },
    'a problem without a message': { problem: { type: 'parser' } },
    'a list': [],
    nothing: null,
  }
  for (const [name, value] of Object.entries(bad)) t.equal(read(value), null, name)
  t.equal(readDescription(Buffer.from('{')), null, 'incomplete')
  t.equal(readDescription(new Uint8Array()), null, 'empty')
  t.match(read({ problem: { type: 'parser', message: 'm'.repeat(5_000), fatal: false } }), {
    problem: { message: /^m{1000}$/, fatal: true },
  })
})
