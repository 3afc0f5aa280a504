import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { FollowedLink } from '#core/scan/links/link-follower.ts'
import { isInPart } from '#core/scan/scan-part.ts'
import { type WalkStep, walkFolders } from '#core/scan/walk-folders.ts'

/** A library and a disk beside it. */
function makePlaces(t: Test, files: string[]) {
  const room = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-follow-')))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  for (const file of ['library/.keep', 'disk/.keep', ...files]) {
    mkdirSync(dirname(join(room, file)), { recursive: true })
    writeFileSync(join(room, file), file)
  }
  const root = join(room, 'library')
  let known: FollowedLink[] = []
  const walk = (more: object = {}) => {
    const links = { targets: [join(room, 'disk')], known }
    return [...walkFolders({ root, excludedPatterns: null, allowedFormats: null, known: new Map(), links, ...more })]
  }
  return {
    room,
    link: (from: string, to: string) => symlinkSync(to.startsWith('.') || to.startsWith('/') ? to : join(room, to), join(room, from)),
    walk,
    /** Walks, and remembers what was followed, as scans do. */
    scan(start = '') {
      const found = walk({ start })
      const isIn = (path: string) => isInPart(start, path)
      known = [...known.filter(({ path }) => !isIn(path)), ...found.flatMap((step) => (step.kind === 'followed' ? [step.item] : []))]
      return report(found)
    },
  }
}

const report = (found: WalkStep[]) => ({
  books: found.flatMap((step) => (step.kind === 'changed' ? step.item.names.map((name) => join(step.item.folder, name)) : [])).sort(),
  skipped: found.flatMap((step) => (step.kind === 'symlinks' ? [step.item] : [])).sort(),
  unreadable: found.flatMap((step) => (step.kind === 'unreadable' ? [step.item.path] : [])).sort(),
})

t.test('links into a target are books and folders of books; others are skipped', (t) => {
  const { link, scan } = makePlaces(t, [
    'library/own/1.cbz',
    'disk/a/1.cbz',
    'disk/a/below/2.cbz',
    'disk/one.cbz',
    'disk/a/metadata.opf',
    'other/3.cbz',
  ])
  link('library/Series', 'disk/a')
  link('library/own/one.cbz', 'disk/one.cbz')
  link('library/own/picture.jpg', 'disk/one.cbz')
  link('library/out', 'other')
  link('library/Dr. Stone', 'other')
  link('library/out.cbz', 'other/3.cbz')
  link('library/inner', './own')
  link('library/nothing', 'disk/nothing')
  link('library/loop', './loop')
  link('library/.hidden', 'disk/a')
  link('disk/a/out', 'other')
  t.same(scan(), {
    books: ['Series/1.cbz', 'Series/below/2.cbz', 'own/1.cbz', 'own/one.cbz'],
    skipped: ['Dr. Stone', 'Series/out', 'inner', 'loop', 'nothing', 'out', 'out.cbz'],
    unreadable: [],
  })
  t.end()
})

t.test('circles end, and no file is found in two ways', (t) => {
  const { room, link, scan } = makePlaces(t, ['disk/a/1.cbz', 'disk/a/below/2.cbz', 'disk/b/3.cbz', 'library/x/.keep'])
  link('library/A', 'disk/a')
  link('library/B', 'disk/a')
  link('library/C', 'disk/a/below')
  link('library/D', 'disk')
  link('library/x/1.cbz', 'disk/a/1.cbz')
  link('disk/a/up', '..')
  link('disk/b/library', 'library')
  link('disk/b/again', 'disk/b')
  linkSync(join(room, 'disk/b/3.cbz'), join(room, 'disk/b/hard.cbz'))
  const first = scan()
  t.same(first.books, ['A/1.cbz', 'A/below/2.cbz', 'D/b/3.cbz', 'D/b/hard.cbz'], 'hard links are two files, as without links')
  t.same(first.skipped, ['A/up', 'B', 'C', 'D/a', 'D/b/again', 'D/b/library', 'x/1.cbz'])
  t.same(scan(), first)
  t.end()
})

t.test('what a link leads to stays with it, whatever links come later, and in scans of parts', (t) => {
  const { room, link, scan } = makePlaces(t, ['disk/a/1.cbz', 'disk/a/2.cbz', 'disk/b/3.cbz', 'library/m/.keep', 'library/z/.keep'])
  link('library/m/a', 'disk/a')
  link('library/m/3.cbz', 'disk/b/3.cbz')
  const books = ['m/3.cbz', 'm/a/1.cbz', 'm/a/2.cbz']
  t.same(scan().books, books)
  link('library/a', 'disk/a')
  link('library/all', 'disk')
  link('library/b.cbz', 'disk/a/1.cbz')
  link('library/z/a', 'disk/a')
  t.same(scan().books, books, 'links that come first by name change nothing')
  t.same(scan('z').books, [], 'the part does not know its other links, but those of the library')
  t.same(scan('z/a'), { books: [], skipped: [], unreadable: ['z/a'] })
  t.same(scan('m/a').books, ['m/a/1.cbz', 'm/a/2.cbz'])
  t.same(scan('m').books, books)
  unlinkSync(join(room, 'library/m/a'))
  t.same(scan().books, ['all/a/1.cbz', 'all/a/2.cbz', 'm/3.cbz'], 'then it belongs to the link that led above it before')
  t.end()
})

t.test('a link that leads nowhere because its disk is missing hides its books, and one that was changed does not', (t) => {
  const { room, link, scan, walk } = makePlaces(t, ['disk/a/1.cbz', 'disk/one.cbz', 'other/2.cbz'])
  link('library/A', 'disk/a')
  link('library/one.cbz', 'disk/one.cbz')
  t.same(scan().books, ['A/1.cbz', 'one.cbz'])
  renameSync(join(room, 'disk'), join(room, 'away'))
  t.same(report(walk()), { books: [], skipped: [], unreadable: ['A', 'one.cbz'] })
  renameSync(join(room, 'away'), join(room, 'disk'))
  t.same(scan().books, ['A/1.cbz', 'one.cbz'])
  unlinkSync(join(room, 'library/A'))
  link('library/A', 'other')
  t.same(scan(), { books: ['one.cbz'], skipped: ['A'], unreadable: [] })
  t.end()
})

t.test('a folder behind a link that is replaced by a link during the walk reveals nothing', (t) => {
  const { room, link, walk } = makePlaces(t, ['disk/a/1.cbz', 'disk/a/below/2.cbz', 'secret/3.cbz', 'secret/below/4.cbz'])
  link('library/A', 'disk/a')
  const found: WalkStep[] = []
  const links = { targets: [join(room, 'disk')], known: [] }
  for (const step of walkFolders({ root: join(room, 'library'), excludedPatterns: null, allowedFormats: null, known: new Map(), links })) {
    found.push(step)
    if (step.kind !== 'changed') continue
    renameSync(join(room, 'disk/a'), join(room, 'disk/was-a'))
    symlinkSync(join(room, 'secret'), join(room, 'disk/a'))
  }
  t.same(report(found), { books: ['A/1.cbz'], skipped: [], unreadable: ['A/below'] })
  t.same(report(walk()), { books: [], skipped: ['A'], unreadable: [] })
  t.end()
})

t.test('a pipe behind a link does not stop the walk', (t) => {
  const { room, link, scan } = makePlaces(t, ['disk/a/1.cbz'])
  execFileSync('mkfifo', [join(room, 'disk/pipe.cbz'), join(room, 'disk/a/pipe.cbz')])
  link('library/A', 'disk/a')
  link('library/pipe.cbz', 'disk/pipe.cbz')
  t.same(scan().books, ['A/1.cbz'])
  t.end()
})
