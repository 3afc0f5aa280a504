import fc from 'fast-check'
import t from 'tap'
import { readFileName, titleOfFileName } from '#core/fields/file-name.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const TABLE: [name: string, number: number | null, volume: number | null, chapter: number | null][] = [
  ['Batman #12.cbz', 12, null, null],
  ['Batman #12.5 (2016).cbz', 12.5, null, null],
  ['X-Men #-1 (1997).cbz', -1, null, null],
  ['Saga v01 (2012) (Digital).cbz', 1, 1, null],
  ['Saga Vol. 3.cbz', 3, 3, null],
  ['Saga - Volume 04.cbz', 4, 4, null],
  ['One_Piece_v100_c1007.5.cbz', 1007.5, 100, 1007.5],
  ['One Piece v01c002.cbz', 2, 1, 2],
  ['Naruto c012.cbz', 12, null, 12],
  ['Naruto Ch.12.5.cbz', 12.5, null, 12.5],
  ['Naruto - Chapter 7 [Group].cbz', 7, null, 7],
  ['Dune Part 2.epub', 2, null, null],
  ['Series ep 5.cbz', 5, null, null],
  ['Tintin (5).cbz', 5, null, null],
  ['Tintin (2019).cbz', null, null, null],
  ['Tintin (2019) (7).cbz', 7, null, null],
  ['Tintin [03].cbz', 3, null, null],
  ['Batman 012 (2016) (Digital) (Group-Empire).cbz', 12, null, null],
  ['Batman 012.cbz', 12, null, null],
  ['page-7.pdf', 7, null, null],
  ['12.cbz', 12, null, null],
  ['Blade Runner 2049.cbz', null, null, null],
  ['Just a title.epub', null, null, null],
  ['Volume 1.5 Special.cbz', 1.5, null, null],
  ['Civic 4 ever.cbz', null, null, null],
  ['Avengers 3 men.cbz', null, null, null],
  ['#7 v2 c3.cbz', 7, 2, 3],
  ['Spider-Man 20190401123.cbz', null, null, null],
  ['進撃の巨人 v12.cbz', 12, 12, null],
  ['name\nwith newline #3.cbz', 3, null, null],
  ['📚 vol 2.pdf', 2, 2, null],
  ['X-Men 1 of 6.cbz', 1, null, null],
  ['X-Men 01 (of 06) (2003).cbz', 1, null, null],
  ['X-Men (1 of 6).cbz', 1, null, null],
  ['X-Men #2 of 6.cbz', 2, null, null],
  ['Land of 1000 Dances.cbz', null, null, null],
  ['Walking Dead 001-006.cbz', 1, null, null],
  ['Walking Dead 001–006 (2003-2004) (Digital).cbz', 1, null, null],
  ['Walking Dead (7-12).cbz', 7, null, null],
  ['Walking Dead v01-03.cbz', 1, 1, null],
  ['Fantastic 4 - 012.cbz', 12, null, null],
  ['Batman 2019-2020.cbz', null, null, null],
  ['Batman (2019-2020).cbz', null, null, null],
  ['Asterix - 01 - Asterix the Gaul.cbz', 1, null, null],
  ['Asterix_-_02_-_The_Golden_Sickle.cbz', 2, null, null],
  ['Asterix - 01 - Asterix the Gaul (1961).cbz', 1, null, null],
  ['Runner - 03 - Blade Runner 2049.cbz', 3, null, null],
  ['Orwell - 1984 - Big Brother.epub', null, null, null],
  ['01. Foo.cbz', 1, null, null],
  ['01.Foo.cbz', 1, null, null],
  ['01 - Foo.cbz', 1, null, null],
  ['7.5 - Foo.cbz', 7.5, null, null],
  ['1984 - Big Brother.epub', null, null, null],
  ['1984. Big Brother.epub', null, null, null],
  ['3-D Comics.cbz', null, null, null],
  ['300 and more.cbz', null, null, null],
  ['Tintin T05 - The Broken Ear.cbz', 5, null, null],
  ['Tintin T05.cbz', 5, null, null],
  ['Tintin - Tome 6 - Black Island.cbz', 6, null, null],
  ['Secret T2019 files.cbz', null, null, null],
  ['Model T1 again.cbz', 1, null, null],
  ['Robot T1000x.cbz', null, null, null],
]

t.test('numbers in the forms that people write', async (t) => {
  for (const [name, number, volume, chapter] of TABLE) {
    const { title, series: _series, isSpecial: _isSpecial, year: _year, ...rest } = readFileName(name)
    t.same(rest, { number, volume, chapter }, JSON.stringify(name))
    t.equal(title, name.slice(0, name.lastIndexOf('.')).replaceAll('\n', ' '))
  }
})

t.test('only the extension is removed', async (t) => {
  t.equal(titleOfFileName('a.b.cbz'), 'a.b')
  t.equal(titleOfFileName('Dr. Slump'), 'Dr. Slump')
  t.equal(titleOfFileName('.cbz'), '.cbz')
  t.equal(titleOfFileName('Emma.kepub.epub'), 'Emma')
  t.equal(titleOfFileName('Emma.KEPUB.EPUB'), 'Emma')
  t.equal(titleOfFileName('.kepub.epub'), '.kepub')
})

t.test('numbers with markers are read back', async () => {
  const word = fc.stringMatching(/^[A-Za-z]{3,12}$/)
  const whole = fc.integer({ min: 0, max: 9999 })
  const fraction = fc.integer({ min: 0, max: 99999 }).map((n) => n / 10)
  assertInTime(
    fc.property(
      word,
      whole,
      fraction,
      fc.constantFrom('v', 'V', 'vol ', 'Vol. ', 'volume '),
      fc.constantFrom('c', 'ch', 'Ch. ', 'chapter '),
      (name, v, c, vm, cm) => {
        const read = readFileName(`${name} ${vm}${v} ${cm}${c} (2019).cbz`)
        return read.volume === v && read.chapter === c && read.number === c
      },
    ),
  )
})

t.test('every name gives a title and numbers that the database can store', async () => {
  assertInTime(
    fc.property(fc.string({ unit: 'binary', maxLength: 255 }), (name) => {
      const { title, number, volume, chapter } = readFileName(name)
      const fits = (n: number | null) => n === null || (Number.isFinite(n) && Math.abs(n) < 1e8)
      return (name === '' || title.length > 0) && fits(number) && fits(volume) && fits(chapter)
    }),
  )
})

t.test('no name of a file takes time that grows faster than its length', onlyCost, async (t) => {
  const at = threadCpuMs()
  for (const hostile of [
    '('.repeat(255),
    '[1'.repeat(127),
    '() '.repeat(85),
    'v '.repeat(127),
    '1.'.repeat(127),
    ' - 1'.repeat(60),
    '1 of '.repeat(50),
    '1-2'.repeat(80),
    ' 01'.repeat(85),
    '(a1'.repeat(85),
    '.1'.repeat(127),
    '第一'.repeat(127),
    ' c2c'.repeat(63),
    '((2019)'.repeat(36),
    ' '.repeat(255),
  ])
    readFileName(hostile)
  t.ok(threadCpuMs() - at < 500, 'no name makes it backtrack for long')
})

t.test('titles from file names are valid user input', async (t) => {
  t.equal(readFileName('broken\u001b[31m\n1.cbz').title, 'broken [31m 1')
  t.equal(readFileName('\u200b.cbz').title, 'Untitled')
  t.equal(readFileName('Saga 1.cbz').title, 'Saga 1')
})
