import t from 'tap'
import { confirmationOf, pathWithin, scanSeconds } from '../../../../../web/src/admin/libraries/scan-words.ts'

t.test('a folder of a library is named below it', async (t) => {
  t.equal(pathWithin('/books/Manga', '/books/Manga/Berserk/Vol 1'), 'Berserk/Vol 1')
  t.equal(pathWithin('/books/Manga', '/books/Manga'), null, 'the library itself')
  t.equal(pathWithin('/books/Manga', '/books/Manga 2/x'), null, 'a folder whose name only begins the same')
})

t.test('exactly the chosen folders are confirmed', async (t) => {
  t.same(confirmationOf(['Thor', 'Hulk', '.'], new Set(['Hulk', '.'])), ['Hulk', '.'])
  t.equal(confirmationOf(['Thor'], new Set()), null)
  t.equal(confirmationOf(['Thor'], new Set(['Hulk'])), null, 'one that the scan has not withheld')
  t.same(confirmationOf(['true', 'Hulk'], new Set(['true'])), ['true/'], 'a folder with the name of everything')
  const many = Array.from({ length: 51 }, (_, index) => `Folder ${index}`)
  t.same(confirmationOf(many, new Set(many)), ['true'], 'all of more than an address has room for')
  t.equal(confirmationOf([...many, 'last'], new Set(many)), null, 'never more than was chosen')
})

t.test('a scan took the time between its begin and its end', async (t) => {
  t.equal(scanSeconds({ startedAt: '2026-03-01T18:20:11.000Z', completedAt: null }), null)
  t.equal(scanSeconds({ startedAt: '2026-03-01T18:20:11.000Z', completedAt: '2026-03-01T18:21:41.500Z' }), 90.5)
  t.equal(scanSeconds({ startedAt: '2026-03-01T18:20:11.000Z', completedAt: '2026-03-01T18:20:10.000Z' }), 0, 'a clock that was set back')
})
