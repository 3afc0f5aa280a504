import fc from 'fast-check'
import t from 'tap'
import { safeFileName, uniqueFileNames } from '#core/reading/archive-names.ts'

t.test('names in an archive are safe and unique', async (t) => {
  t.same(uniqueFileNames(['a.cbz', 'A.cbz', 'b.cbz', 'a.cbz']), ['a.cbz', 'A (2).cbz', 'b.cbz', 'a (3).cbz'])
  t.same(uniqueFileNames(['a.cbz', 'a (2).cbz', 'a.cbz']), ['a.cbz', 'a (2).cbz', 'a (3).cbz'])
  t.same(uniqueFileNames(['a.kepub.epub', 'a.kepub.epub', 'a.epub']), ['a.kepub.epub', 'a (2).kepub.epub', 'a.epub'])
  t.same(uniqueFileNames(['e\u0301.cbz', '\u00e9.cbz']), ['é.cbz', 'é (2).cbz'], 'one letter, written in two ways')
  t.equal(safeFileName('进击的巨人 1.cbz'), '进击的巨人 1.cbz')
  t.equal(safeFileName('../../etc/passwd'), '___.._etc_passwd')
  t.equal(safeFileName('CON.cbz'), '_CON.cbz')
  t.equal(safeFileName('a\u202ezbc.exe'), 'a_zbc.exe')
  t.equal(safeFileName(' ... '), '_____')
  t.ok(Buffer.byteLength(safeFileName(`${'界'.repeat(300)}.cbz`)) <= 255)
  t.match(safeFileName(`${'界'.repeat(300)}.cbz`), /界\.cbz$/)
})

t.test('any file name becomes a valid name in an archive', async (t) => {
  const name = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.constantFrom('a.cbz', 'A.CBZ', '..', '.', '', 'a/b', 'a\\b', 'con', 'é', 'e\u0301'),
  )
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), (given) => {
      const names = uniqueFileNames(given)
      t.equal(new Set(names.map((each) => each.toLowerCase().normalize('NFC'))).size, given.length)
      for (const each of names) {
        if (/[/\\\0]/.test(each) || each === '..' || each === '.' || each === '' || Buffer.byteLength(each) > 255)
          t.fail(JSON.stringify(each))
      }
    }),
    { numRuns: 200 },
  )
})
