import fc from 'fast-check'
import t from 'tap'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'
import { inPageOrder, pageTypeOf, tidyName } from '#workers/formats/comic/page-order.ts'

const sorted = (names: string[]) => inPageOrder(names.map((name) => ({ name }))).map(({ name }) => name)

t.test('natural, case-insensitive order of the full name', async (t) => {
  const orders: string[][] = [
    ['4.jpg', '5.jpg', '10.jpg', '11.jpg'],
    ['Page 1.png', 'page 2.png', 'PAGE 3.png', 'page 10.png', 'page 011.png'],
    ['0.png', 'ch1/2.png', 'ch2/1.png', 'ch10/1.png'],
    ['a/9.jpg', 'a/10.jpg', 'a.jpg', 'a b/1.jpg'],
    ['01.jpg', '1.jpg', '1a.jpg', '002.jpg'],
    ['p1v2.jpg', 'p1v10.jpg', 'p10v1.jpg'],
    ['99999999999999999998.jpg', '99999999999999999999.jpg', '100000000000000000000.jpg'],
    ['École 1.jpg', 'ecole 2.jpg', 'Ecole 3.jpg', 'zoo.jpg'],
    ['第１話.jpg', '第2話.jpg', '第１０話.jpg'],
  ]
  for (const order of orders) {
    t.same(sorted(order), order)
    t.same(sorted(order.toReversed()), order)
  }
})

t.test('any names have one order, independent of the input order', async (t) => {
  const name = fc
    .array(fc.constantFrom('a', 'B', 'é', '0', '1', '9', '10', '/', ' ', '.', '話'), { maxLength: 8 })
    .map((parts) => parts.join(''))
  assertInTime(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
      const once = sorted(names)
      t.same(sorted(names.toReversed()), once)
      t.same(sorted(once), once)
    }),
    { numRuns: 200 },
  )
  t.same(sorted(['p003-004.jpg', 'p003.jpg', 'p003a.png', 'p002.webp']), ['p002.webp', 'p003.jpg', 'p003-004.jpg', 'p003a.png'])
  t.same(sorted(['1 2.jpg', '1.jpg', '1!.jpg', '1.5.jpg']), ['1.jpg', '1 2.jpg', '1!.jpg', '1.5.jpg'])
  t.same(sorted(['a/p1-2.jpg', 'a-b/p1.jpg', 'a/p1.jpg']), ['a/p1.jpg', 'a/p1-2.jpg', 'a-b/p1.jpg'])
  const twins = inPageOrder([
    { name: 'a', nth: 1 },
    { name: 'a', nth: 2 },
  ])
  t.same(
    twins.map(({ nth }) => nth),
    [1, 2],
    'equal names keep their order',
  )
})

t.test('70,000 names are sorted soon', onlyCost, async (t) => {
  const many = Array.from({ length: 70_000 }, (_, index) => ({ name: `book/page ${(index * 7919) % 70_000}.jpg` }))
  const started = threadCpuMs()
  t.equal(inPageOrder(many)[69_999]?.name, 'book/page 69999.jpg')
  t.ok(threadCpuMs() - started < 3_000)
})

t.test('which entries are pages', async (t) => {
  for (const name of [
    'a.jpg',
    'b/C.JPEG',
    'x.jpe',
    'x.jfif',
    'x.png',
    'x.gif',
    'x.webp',
    'x.avif',
    'x.jxl',
    'x.bmp',
    'x.tif',
    'x.tiff',
    'x.heic',
    './1.jpg',
    '../1.jpg',
    '/tmp/1.jpg',
  ]) {
    t.ok(pageTypeOf(name), name)
  }
  for (const name of [
    'a.txt',
    'jpg',
    'a.jpg/',
    'ComicInfo.xml',
    '.hidden.png',
    'a/.git/x.png',
    '__MACOSX/a.jpg',
    'b/__MACOSX/._a.jpg',
    '@eaDir/a.jpg',
    '#recycle/a.jpg',
    'b/.@__thumb/a.jpg',
    '1.constructor',
    'Thumbs.db',
    'x.svg',
    'x.ico',
    '',
  ]) {
    t.equal(pageTypeOf(name), null, name)
  }
})

t.test('names of pages are tidied and cut', async (t) => {
  t.equal(tidyName('a\\b\0c'), 'a/b\ufffdc')
  t.equal(tidyName('half \ud83d'), 'half \ufffd')
  t.equal(tidyName('🐟'.repeat(5000)).length, 4096)
})
