import fc from 'fast-check'
import t from 'tap'
import { fieldsOfFileName, readFileName, titleOfFileName } from '#core/fields/file-name.ts'
import { FILE_NAMES } from '#test/core/fields/file-names.table.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('series, numbers, specials and years in the forms that people write', async (t) => {
  t.ok(FILE_NAMES.length >= 400, `${FILE_NAMES.length} names`)
  t.equal(new Set(FILE_NAMES.map(([name]) => name)).size, FILE_NAMES.length, 'each stands once')
  const nothing = { series: null, volume: null, chapter: null, number: null, isSpecial: false, year: null }
  for (const [name, gives] of FILE_NAMES) {
    const { title, isBeside: _, ...read } = readFileName(name)
    t.same(read, { ...nothing, ...gives }, JSON.stringify(name))
    t.equal(title, titleOfFileName(name))
  }
})

t.test('a name that begins with that of its folder has its numbers behind it', async (t) => {
  const table: [folder: string, name: string, series: string, number: number | null, volume: number | null][] = [
    ['Zom 100', 'Zom 100.cbz', 'Zom 100', null, null],
    ['Zom 100', 'Zom 100 05.cbz', 'Zom 100', 5, null],
    ['zom 100 (2021)', 'Zom_100_v05.cbz', 'Zom 100', 5, 5],
    ['Fahrenheit 451', 'Fahrenheit 451 - Part 2.cbz', 'Fahrenheit 451', 2, null],
    ['06', '06 12.cbz', '06', 12, null],
    ['06', '06.cbz', '06', null, null],
    ['06', '061.cbz', '061', 61, null],
    ['100 Bullets', '100 Bullets 012 (2000).cbz', '100 Bullets', 12, null],
    ['Batman', 'Saga 12.cbz', 'Saga', 12, null],
    ['(2013)', 'Saga 12.cbz', 'Saga', 12, null],
    ['', '12.cbz', '', 12, null],
  ]
  for (const [folder, name, series, number, volume] of table)
    t.match(
      readFileName(name, { folder }),
      { series: /\D/.test(series) || number === null || series === '06' ? series : null, number, volume },
      `${folder}/${name}`,
    )
})

t.test('behind the name of its folder, a number before a title needs no zero in front', async (t) => {
  const table: [folder: string, name: string, number: number | null][] = [
    ['Thorgal', '05 Le Sceptre.cbz', 5],
    ['Thorgal', '12 Le Tresor.cbz', 12],
    ['Thorgal', '12. «Le Tresor».cbz', 12],
    ['Tintin', 'Tintin 09 Le Crabe (1941).cbr', 9],
    ['Tintin', "Tintin 10 L'Etoile (1942).cbr", 10],
    ['Tintin', "Tintin - 10 L'Etoile.cbr", 10],
    ['Tintin', "Tintin 10, L'Etoile.cbr", 10],
    ['Hergé - Tintin (1929)', "[Hergé] tintin_10_L'Etoile.cbr", 10],
    ['Tintin', "Les Aventures de Tintin 10 L'Etoile.cbr", 10],
    ['Tintin', 'Tintin 10 7 boules.cbr', 10],
    ['Tintin', 'Tintin 10 Room 101.cbr', 10],
    ['Isnogoud', 'Isnogoud-10-Titre.cbr', 10],
    ['Bat', 'Bat 10 Everyone Loves Part Two (2018) - Writer.cbz', 10],
    ['Bat', 'Bat 10 Everyone Loves Part 2 (2018).cbz', 10],
    ['Bat', 'Bat 099 Foo.cbz', 99],
    ['Bat', 'Bat 100 Bar.cbz', 100],
    ['Bat (2016)', 'Bat 10.5 Bar.cbz', 10.5],
    ['Bat', 'Bat 10b Bar.cbz', 10.5],
    ['X-Men', 'X-Men 141 Days of Future Past.cbz', 141],
    ['Zom 100', 'Zom 100 12 Zombies.cbz', 12],
    ['海贼王', '海贼王 12 冒险.cbz', 12],
    // Numbers of titles.
    ['Robot', 'Robot 2099 Rising.cbz', null],
    ['Avengers', 'Avengers 3 men.cbz', null],
    ['Batman', 'Batman 80 Page Giant.cbz', null],
    ['Fairy Tail', 'Fairy Tail 100 Years Quest.cbz', null],
    ['Zom 100', 'Zom 100 Bucket List.cbz', null],
    ['100 Bullets', '100 Bullets Deluxe.cbz', null],
    ['The Best of 100 Bullets', '100 Bullets Deluxe.cbz', null],
    ['86', '86 - Eighty-Six 12.cbz', 12],
    ['The 100 Girlfriends Who Love You', 'The 100 Girlfriends Bonus.cbz', null],
    ['Area 51', 'Area 51 Uncovered.cbz', null],
    ['Manga', 'Catch 22 Again.cbz', null],
    ['Manga', '1001 Nights.cbz', null],
    ['Dune', 'Dune 2 Part 1.epub', 1],
    ['Mob Psycho', 'Mob Psycho 100 v05.cbz', 5],
    // The words of a folder without digits stay, because they say what its numbers are.
    ['Book', 'Book 3.cbz', 3],
    ['', '12 Le Tresor.cbz', null],
  ]
  for (const [folder, name, number] of table) t.equal(readFileName(name, { folder }).number, number, `${folder}/${name}`)
  t.equal(readFileName('Book 3.cbz', { folder: 'Book' }).volume, 3)
})

t.test('rows get whole volumes only, because other programs know no others', async (t) => {
  t.same(fieldsOfFileName('Spy v08.5.cbz'), { title: 'Spy v08.5', number: 8.5, volume: null, chapter: null })
  t.same(fieldsOfFileName('Spy v08 c1.cbz'), { title: 'Spy v08 c1', number: 1, volume: 8, chapter: 1 })
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
    ' -'.repeat(127),
    'vol '.repeat(63),
    ' part 1'.repeat(36),
    ' tpb'.repeat(63),
    'jan 2019 '.repeat(28),
    'A, B - '.repeat(36),
    '番外'.repeat(42),
    '(v01)'.repeat(51),
    '全1巻'.repeat(50),
    ': special'.repeat(28),
    '0v2 '.repeat(63),
    'c1b'.repeat(85),
    ' 10 A'.repeat(51),
    'x-1-'.repeat(63),
    ' the 100'.repeat(31),
    ' 2019.03'.repeat(31),
    'ch 1,1'.repeat(42),
  ])
    readFileName(hostile, { folder: hostile.slice(0, 20) })
  t.ok(threadCpuMs() - at < 500, 'no name makes it backtrack for long')
})

t.test('titles from file names are valid user input', async (t) => {
  t.equal(readFileName('broken\u001b[31m\n1.cbz').title, 'broken [31m 1')
  t.equal(readFileName('\u200b.cbz').title, 'Untitled')
  t.equal(readFileName('Saga 1.cbz').title, 'Saga 1')
})
