/** A file: which pages it has, and whether a tagging program has added ComicInfo. `two:2` has two pages, others have three. */
type Content = string

/** What happens to files between two scans. Paths begin with the library, `A` or `B`. */
type Step =
  | ['move', from: string, to: string]
  | ['copy', from: string, to: string]
  | ['put', path: string, content: Content]
  | ['remove', path: string]

export interface MoveCase {
  title: string
  /** Absent: a folder of six files, in library A. */
  books?: Record<string, Content>
  steps: Step[]
  /** Where each book is afterwards, by its path before; null for a new book. */
  after: Record<string, string | null>
  /** Paths of books that are missing then, with their path before. */
  missing?: Record<string, string>
  /** The same for series, as far as they matter. */
  series?: Record<string, string | null>
  /** The page of the reader of each book, by its path afterwards; absent: 2, where they were before. */
  pages?: Record<string, number>
}

export const SIX: Record<string, Content> = {
  'A/s/01.cbz': 'one',
  'A/s/02.cbz': 'two',
  'A/s/03.cbz': 'three',
  'A/s/04.cbz': 'four',
  'A/s/05.cbz': 'five',
  'A/t/01.cbz': 'other',
}
const TAGGED = (content: Content): Content => `${content}+tag`

/** Those of the six that stay where they are. */
const same = (...paths: string[]) => Object.fromEntries(paths.map((path) => [path, path]))

export const MOVE_CASES: MoveCase[] = [
  {
    title: 'a renamed file',
    steps: [['move', 'A/s/03.cbz', 'A/s/three.cbz']],
    after: { ...same('A/s/01.cbz', 'A/s/02.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'), 'A/s/three.cbz': 'A/s/03.cbz' },
  },
  {
    title: 'a renamed folder',
    steps: [['move', 'A/s', 'A/u']],
    after: {
      'A/u/01.cbz': 'A/s/01.cbz',
      'A/u/02.cbz': 'A/s/02.cbz',
      'A/u/03.cbz': 'A/s/03.cbz',
      'A/u/04.cbz': 'A/s/04.cbz',
      'A/u/05.cbz': 'A/s/05.cbz',
      ...same('A/t/01.cbz'),
    },
    series: { 'A/u': 'A/s', 'A/t': 'A/t' },
  },
  {
    title: 'files shifted by one, for a new one between them',
    steps: [
      ['move', 'A/s/05.cbz', 'A/s/06.cbz'],
      ['move', 'A/s/04.cbz', 'A/s/05.cbz'],
      ['move', 'A/s/03.cbz', 'A/s/04.cbz'],
      ['move', 'A/s/02.cbz', 'A/s/03.cbz'],
      ['put', 'A/s/02.cbz', 'new'],
    ],
    after: {
      ...same('A/s/01.cbz', 'A/t/01.cbz'),
      'A/s/02.cbz': null,
      'A/s/03.cbz': 'A/s/02.cbz',
      'A/s/04.cbz': 'A/s/03.cbz',
      'A/s/05.cbz': 'A/s/04.cbz',
      'A/s/06.cbz': 'A/s/05.cbz',
    },
  },
  {
    title: 'files shifted down, after one was deleted',
    steps: [
      ['remove', 'A/s/02.cbz'],
      ['move', 'A/s/03.cbz', 'A/s/02.cbz'],
      ['move', 'A/s/04.cbz', 'A/s/03.cbz'],
      ['move', 'A/s/05.cbz', 'A/s/04.cbz'],
    ],
    after: { ...same('A/s/01.cbz', 'A/t/01.cbz'), 'A/s/02.cbz': 'A/s/03.cbz', 'A/s/03.cbz': 'A/s/04.cbz', 'A/s/04.cbz': 'A/s/05.cbz' },
    missing: { 'A/s/02.cbz': 'A/s/02.cbz' },
  },
  {
    title: 'two files that swap their names',
    steps: [
      ['move', 'A/s/01.cbz', 'A/s/x.cbz'],
      ['move', 'A/s/02.cbz', 'A/s/01.cbz'],
      ['move', 'A/s/x.cbz', 'A/s/02.cbz'],
    ],
    after: {
      'A/s/01.cbz': 'A/s/02.cbz',
      'A/s/02.cbz': 'A/s/01.cbz',
      ...same('A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
    },
  },
  {
    title: 'two files of two folders that swap their places',
    steps: [
      ['move', 'A/s/01.cbz', 'A/x.cbz'],
      ['move', 'A/t/01.cbz', 'A/s/01.cbz'],
      ['move', 'A/x.cbz', 'A/t/01.cbz'],
    ],
    after: {
      'A/s/01.cbz': 'A/t/01.cbz',
      'A/t/01.cbz': 'A/s/01.cbz',
      ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz'),
    },
    series: { 'A/s': 'A/s', 'A/t': 'A/t' },
  },
  {
    title: 'a cycle of four',
    steps: [
      ['move', 'A/s/01.cbz', 'A/s/x.cbz'],
      ['move', 'A/s/02.cbz', 'A/s/01.cbz'],
      ['move', 'A/s/03.cbz', 'A/s/02.cbz'],
      ['move', 'A/s/04.cbz', 'A/s/03.cbz'],
      ['move', 'A/s/x.cbz', 'A/s/04.cbz'],
    ],
    after: {
      'A/s/01.cbz': 'A/s/02.cbz',
      'A/s/02.cbz': 'A/s/03.cbz',
      'A/s/03.cbz': 'A/s/04.cbz',
      'A/s/04.cbz': 'A/s/01.cbz',
      ...same('A/s/05.cbz', 'A/t/01.cbz'),
    },
  },
  {
    title: 'a file that was tagged',
    steps: [['put', 'A/s/01.cbz', TAGGED('one')]],
    after: same(...Object.keys(SIX)),
  },
  {
    title: 'files that were tagged and renamed',
    steps: [
      ['remove', 'A/s/01.cbz'],
      ['put', 'A/s/First.cbz', TAGGED('one')],
      ['remove', 'A/s/02.cbz'],
      ['put', 'A/s/Second.cbz', TAGGED('two')],
    ],
    after: {
      'A/s/First.cbz': 'A/s/01.cbz',
      'A/s/Second.cbz': 'A/s/02.cbz',
      ...same('A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
    },
  },
  {
    title: 'files that were tagged and shifted',
    steps: [
      ['put', 'A/s/06.cbz', TAGGED('five')],
      ['put', 'A/s/05.cbz', TAGGED('four')],
      ['put', 'A/s/04.cbz', TAGGED('three')],
      ['put', 'A/s/03.cbz', 'new'],
    ],
    after: {
      ...same('A/s/01.cbz', 'A/s/02.cbz', 'A/t/01.cbz'),
      'A/s/03.cbz': null,
      'A/s/04.cbz': 'A/s/03.cbz',
      'A/s/05.cbz': 'A/s/04.cbz',
      'A/s/06.cbz': 'A/s/05.cbz',
    },
  },
  {
    title: 'equal content before equal pages',
    steps: [
      ['copy', 'A/s/01.cbz', 'A/s/z.cbz'],
      ['remove', 'A/s/01.cbz'],
      ['put', 'A/s/a.cbz', TAGGED('one')],
    ],
    after: { ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'), 'A/s/z.cbz': 'A/s/01.cbz', 'A/s/a.cbz': null },
  },
  {
    title: 'a file that was tagged, and copies of it as it was before',
    steps: [
      ['copy', 'A/s/01.cbz', 'A/s/00.cbz'],
      ['copy', 'A/s/01.cbz', 'B/s/copy.cbz'],
      ['put', 'A/s/01.cbz', TAGGED('one')],
    ],
    after: { ...same(...Object.keys(SIX)), 'A/s/00.cbz': null, 'B/s/copy.cbz': null },
  },
  {
    title: 'a replaced file with fewer pages',
    steps: [['put', 'A/s/01.cbz', 'another:1']],
    after: same(...Object.keys(SIX)),
    pages: { 'A/s/01.cbz': 1 },
  },
  {
    title: 'a replaced file whose old content is elsewhere',
    steps: [
      ['move', 'A/s/01.cbz', 'A/t/old.cbz'],
      ['put', 'A/s/01.cbz', 'another:1'],
    ],
    after: {
      ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
      'A/t/old.cbz': 'A/s/01.cbz',
      'A/s/01.cbz': null,
    },
  },
  {
    title: 'files that took the paths of others, and a new one at the first path',
    steps: [
      ['move', 'A/s/02.cbz', 'A/s/03.cbz'],
      ['move', 'A/s/01.cbz', 'A/s/02.cbz'],
      ['put', 'A/s/01.cbz', 'new'],
    ],
    after: {
      ...same('A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
      'A/s/01.cbz': null,
      'A/s/02.cbz': 'A/s/01.cbz',
      'A/s/03.cbz': 'A/s/02.cbz',
    },
    missing: { 'A/s/03.cbz': 'A/s/03.cbz' },
  },
  {
    title: 'a file that took the path of another one, and a new one with fewer pages at its path',
    steps: [
      ['move', 'A/s/01.cbz', 'A/s/02.cbz'],
      ['put', 'A/s/01.cbz', 'another:1'],
    ],
    after: { ...same('A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'), 'A/s/01.cbz': null, 'A/s/02.cbz': 'A/s/01.cbz' },
    missing: { 'A/s/02.cbz': 'A/s/02.cbz' },
  },
  {
    title: 'a long row of files, each at the path of the next, the last one in another folder',
    steps: [
      ['move', 'A/s/05.cbz', 'A/t/01.cbz'],
      ['move', 'A/s/04.cbz', 'A/s/05.cbz'],
      ['move', 'A/s/03.cbz', 'A/s/04.cbz'],
      ['move', 'A/s/02.cbz', 'A/s/03.cbz'],
      ['move', 'A/s/01.cbz', 'A/s/02.cbz'],
      ['put', 'A/s/01.cbz', 'new'],
    ],
    after: {
      'A/s/01.cbz': null,
      'A/s/02.cbz': 'A/s/01.cbz',
      'A/s/03.cbz': 'A/s/02.cbz',
      'A/s/04.cbz': 'A/s/03.cbz',
      'A/s/05.cbz': 'A/s/04.cbz',
      'A/t/01.cbz': 'A/s/05.cbz',
    },
    missing: { 'A/t/01.cbz': 'A/t/01.cbz' },
    series: { 'A/s': 'A/s', 'A/t': 'A/t' },
  },
  {
    title: 'files that were tagged and took the paths of others, and a new one',
    steps: [
      ['put', 'A/s/03.cbz', TAGGED('two')],
      ['put', 'A/s/02.cbz', TAGGED('one')],
      ['put', 'A/s/01.cbz', 'new'],
    ],
    after: {
      ...same('A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
      'A/s/01.cbz': null,
      'A/s/02.cbz': 'A/s/01.cbz',
      'A/s/03.cbz': 'A/s/02.cbz',
    },
    missing: { 'A/s/03.cbz': 'A/s/03.cbz' },
  },
  {
    title: 'a file that took a path in another library, and a new one at its path',
    books: { ...SIX, 'B/s/01.cbz': 'foreign' },
    steps: [
      ['move', 'A/s/01.cbz', 'B/s/01.cbz'],
      ['put', 'A/s/01.cbz', 'new'],
    ],
    after: {
      ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
      'A/s/01.cbz': null,
      'B/s/01.cbz': 'A/s/01.cbz',
    },
    missing: { 'B/s/01.cbz': 'B/s/01.cbz' },
    series: { 'A/s': 'A/s', 'B/s': 'B/s' },
  },
  {
    title: 'files that took the paths of others in two libraries, and a new one',
    books: { ...SIX, 'B/s/01.cbz': 'foreign', 'B/s/02.cbz': 'more' },
    steps: [
      ['move', 'A/s/04.cbz', 'A/s/05.cbz'],
      ['move', 'B/s/01.cbz', 'A/s/04.cbz'],
      ['move', 'B/s/02.cbz', 'B/s/01.cbz'],
      ['move', 'A/s/01.cbz', 'B/s/02.cbz'],
      ['put', 'A/s/01.cbz', 'new'],
    ],
    after: {
      ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/t/01.cbz'),
      'A/s/01.cbz': null,
      'B/s/02.cbz': 'A/s/01.cbz',
      'B/s/01.cbz': 'B/s/02.cbz',
      'A/s/04.cbz': 'B/s/01.cbz',
      'A/s/05.cbz': 'A/s/04.cbz',
    },
    missing: { 'A/s/05.cbz': 'A/s/05.cbz' },
  },
  {
    title: 'a folder that is split',
    steps: [
      ['move', 'A/s/01.cbz', 'A/u/01.cbz'],
      ['move', 'A/s/02.cbz', 'A/u/02.cbz'],
      ['move', 'A/s/03.cbz', 'A/v/03.cbz'],
    ],
    after: {
      'A/u/01.cbz': 'A/s/01.cbz',
      'A/u/02.cbz': 'A/s/02.cbz',
      'A/v/03.cbz': 'A/s/03.cbz',
      ...same('A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
    },
    series: { 'A/s': 'A/s', 'A/t': 'A/t', 'A/u': null, 'A/v': null },
  },
  {
    title: 'folders that are merged',
    books: { ...SIX, 'A/t/02.cbz': 'more', 'A/t/03.cbz': 'most' },
    steps: [
      ['move', 'A/t/01.cbz', 'A/s/11.cbz'],
      ['move', 'A/t/02.cbz', 'A/s/12.cbz'],
      ['move', 'A/t/03.cbz', 'A/s/13.cbz'],
    ],
    after: {
      ...same('A/s/01.cbz', 'A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz'),
      'A/s/11.cbz': 'A/t/01.cbz',
      'A/s/12.cbz': 'A/t/02.cbz',
      'A/s/13.cbz': 'A/t/03.cbz',
    },
    series: { 'A/s': 'A/s' },
  },
  {
    title: 'a folder that went to another library',
    steps: [['move', 'A/s', 'B/s']],
    after: {
      'B/s/01.cbz': 'A/s/01.cbz',
      'B/s/02.cbz': 'A/s/02.cbz',
      'B/s/03.cbz': 'A/s/03.cbz',
      'B/s/04.cbz': 'A/s/04.cbz',
      'B/s/05.cbz': 'A/s/05.cbz',
      ...same('A/t/01.cbz'),
    },
    series: { 'B/s': 'A/s', 'A/t': 'A/t' },
  },
  {
    title: 'a part of a folder that went to another library',
    steps: [
      ['move', 'A/s/01.cbz', 'B/s/01.cbz'],
      ['move', 'A/s/02.cbz', 'B/s/02.cbz'],
    ],
    after: {
      'B/s/01.cbz': 'A/s/01.cbz',
      'B/s/02.cbz': 'A/s/02.cbz',
      ...same('A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
    },
    series: { 'A/s': 'A/s', 'B/s': null },
  },
  {
    title: 'a file that went to another library, and one that took its path',
    steps: [
      ['move', 'A/s/01.cbz', 'B/s/01.cbz'],
      ['put', 'A/s/01.cbz', 'another:1'],
    ],
    after: {
      ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
      'B/s/01.cbz': 'A/s/01.cbz',
      'A/s/01.cbz': null,
    },
  },
  {
    title: 'files that were tagged and went to another library',
    steps: [
      ['remove', 'A/t/01.cbz'],
      ['put', 'B/t/Other.cbz', TAGGED('other')],
    ],
    after: { ...same('A/s/01.cbz', 'A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz'), 'B/t/Other.cbz': 'A/t/01.cbz' },
    series: { 'A/s': 'A/s', 'B/t': 'A/t' },
  },
  {
    title: 'files of two libraries that swap their places',
    books: { ...SIX, 'B/s/01.cbz': 'foreign' },
    steps: [
      ['move', 'A/s/01.cbz', 'A/x.cbz'],
      ['move', 'B/s/01.cbz', 'A/s/01.cbz'],
      ['move', 'A/x.cbz', 'B/s/01.cbz'],
    ],
    after: {
      'A/s/01.cbz': 'B/s/01.cbz',
      'B/s/01.cbz': 'A/s/01.cbz',
      ...same('A/s/02.cbz', 'A/s/03.cbz', 'A/s/04.cbz', 'A/s/05.cbz', 'A/t/01.cbz'),
    },
  },
  {
    title: 'a copy in the same library, and one in another',
    steps: [
      ['copy', 'A/s/01.cbz', 'A/s/copy.cbz'],
      ['copy', 'A/s/02.cbz', 'B/s/copy.cbz'],
    ],
    after: { ...same(...Object.keys(SIX)), 'A/s/copy.cbz': null, 'B/s/copy.cbz': null },
  },
  {
    title: 'equal files of a folder that went to another library',
    books: { 'A/s/01.cbz': 'equal', 'A/s/02.cbz': 'equal', 'A/s/03.cbz': 'equal', 'A/t/01.cbz': 'other' },
    steps: [['move', 'A/s', 'B/u']],
    after: { 'B/u/01.cbz': 'A/s/01.cbz', 'B/u/02.cbz': 'A/s/02.cbz', 'B/u/03.cbz': 'A/s/03.cbz', ...same('A/t/01.cbz') },
    series: { 'B/u': 'A/s' },
  },
]
