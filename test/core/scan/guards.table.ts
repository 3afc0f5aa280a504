/** What happens to a library between two scans, and what the second one makes of it. */
export interface GuardCase {
  title: string
  /** Books by folder; `.` is the library's own folder. */
  books: Record<string, number>
  /** Deletes so many files of each folder; `all` removes the folder too. */
  deleted?: Record<string, number | 'all'>
  /** Changes the size of all books of a folder, but no page, and gives them other names in a folder: that one, or another. */
  tagged?: Record<string, string>
  /** Other books, by folder. */
  added?: Record<string, number>
  /** Other files, by folder. */
  leftBehind?: Record<string, string[]>
  /** Renames folders. */
  renamed?: Record<string, string>
  /** Folders that were on another device at the first scan. */
  otherDevice?: string[]
  /** Books that are marked as deleted, by folder. */
  marked?: Record<string, number>
  /** Folders that are withheld, with the reason. */
  withheld?: Record<string, string>
  /** The whole library is withheld, and the scan fails. */
  isMass?: true
}

/** So many folders of four books. */
const many = (count: number, books = 4): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, books]))
const first = <T>(count: number, value: T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, value]))

export const GUARD_CASES: GuardCase[] = [
  { title: 'one book of a folder', books: many(5), deleted: { s0: 1 }, marked: { s0: 1 } },
  {
    title: '11 of the 12 books of a folder, of which one stays',
    books: { ...many(6), big: 12 },
    deleted: { big: 11 },
    marked: { big: 11 },
  },
  { title: 'a folder that held five books and is empty', books: { ...many(5), big: 5 }, deleted: { big: 5 }, withheld: { big: 'empty' } },
  {
    title: 'a folder that held five books, in which a NAS has left its own folder',
    books: { ...many(5), big: 5 },
    deleted: { big: 5 },
    leftBehind: { big: ['@eaDir/0.cbz', '.DS_Store'] },
    withheld: { big: 'empty' },
  },
  {
    title: 'a folder that held five books, in which Windows has left its files',
    books: { ...many(5), big: 5 },
    deleted: { big: 5 },
    leftBehind: { big: ['Thumbs.db', 'desktop.ini'] },
    withheld: { big: 'empty' },
  },
  {
    title: 'a folder that held five books and holds a file of a user',
    books: { ...many(5), big: 5 },
    deleted: { big: 5 },
    leftBehind: { big: ['notes.txt'] },
    marked: { big: 5 },
  },
  { title: 'a folder that held four books and is empty', books: many(5), deleted: { s0: 4 }, marked: { s0: 4 } },
  { title: 'one folder that vanished whole', books: { ...many(5), big: 12 }, deleted: { big: 'all' }, marked: { big: 12 } },
  { title: 'two folders that vanished', books: many(6), deleted: first(2, 'all'), marked: first(2, 4) },
  { title: 'three of twelve folders are not more than a quarter', books: many(12), deleted: first(3, 'all'), marked: first(3, 4) },
  { title: 'three of eleven folders', books: many(11), deleted: first(3, 'all'), withheld: first(3, 'vanished') },
  {
    title: 'three of eleven folders, and a new one',
    books: many(11),
    deleted: first(3, 'all'),
    added: { new: 1 },
    withheld: first(3, 'vanished'),
  },
  { title: 'six of twenty folders', books: many(20), deleted: first(6, 'all'), withheld: first(6, 'vanished') },
  {
    title: 'three of eleven folders, and a book elsewhere',
    books: many(11),
    deleted: { ...first(3, 'all'), s9: 1 },
    withheld: first(3, 'vanished'),
    marked: { s9: 1 },
  },
  { title: 'folders that were renamed', books: many(5), renamed: { s0: 'x', s1: 'y', s2: 'z' } },
  { title: 'half of the books', books: { a: 4, b: 4 }, deleted: { a: 'all' }, marked: { a: 4 } },
  { title: 'more than half of five books', books: { a: 3, b: 2 }, deleted: { a: 'all' }, withheld: { a: 'most_missing' }, isMass: true },
  { title: 'more than half of four books', books: { a: 3, b: 1 }, deleted: { a: 'all' }, marked: { a: 3 } },
  {
    title: 'all of four books',
    books: { a: 3, b: 1 },
    deleted: { a: 'all', b: 'all' },
    withheld: { a: 'most_missing', b: 'most_missing' },
    isMass: true,
  },
  {
    title: 'books of the library’s own folder',
    books: { ...many(3), '.': 6 },
    deleted: { '.': 6 },
    marked: { '.': 6 },
  },
  {
    title: 'a folder of five books that is on another device',
    books: { ...many(5), big: 5 },
    deleted: { big: 1 },
    otherDevice: ['big'],
    withheld: { big: 'other_device' },
  },
  { title: 'a folder of four books that is on another device', books: many(5), deleted: { s0: 1 }, otherDevice: ['s0'], marked: { s0: 1 } },
  { title: 'another device with the same books', books: { ...many(5), big: 5 }, otherDevice: ['big'] },
  {
    title: 'vanished folders of a place that is on another device',
    books: { ...many(8), 'disk/a': 3, 'disk/b': 3, 'disk/c': 1 },
    deleted: { 'disk/a': 'all', 'disk/b': 'all' },
    otherDevice: ['disk'],
    withheld: { 'disk/a': 'other_device', 'disk/b': 'other_device' },
  },
  { title: 'the only book of a library was tagged and renamed', books: { a: 1 }, tagged: { a: 'a' } },
  { title: 'the only book of a library was tagged and moved', books: { a: 1 }, tagged: { a: 'b' }, deleted: { a: 'all' } },
  { title: 'most books of a library were tagged and renamed', books: { a: 5, b: 4, c: 2 }, tagged: { a: 'a', b: 'b' } },
  { title: 'a folder of five books whose books were tagged and moved', books: { ...many(5), big: 5 }, tagged: { big: 'new' } },
  {
    title: 'three of eleven folders whose books were tagged and moved into one',
    books: many(11),
    tagged: first(3, 'new'),
    deleted: first(3, 'all'),
  },
  {
    title: 'new files beside tagged ones do not speak for another folder',
    books: { ...many(5), big: 5, other: 5 },
    tagged: { big: 'big' },
    deleted: { other: 5 },
    withheld: { other: 'empty' },
  },
  {
    title: 'fewer new files than lost ones',
    books: { ...many(5), big: 5 },
    deleted: { big: 5 },
    added: { s0: 4 },
    withheld: { big: 'empty' },
  },
  {
    title: 'a library on another device, with as many other books',
    books: { a: 5, b: 4 },
    deleted: { a: 'all', b: 'all' },
    added: { c: 9 },
    otherDevice: [''],
    withheld: { a: 'other_device', b: 'other_device' },
    isMass: true,
  },
]
