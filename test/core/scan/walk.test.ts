import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { compileExcludes } from '#core/scan/glob.ts'
import { type WalkBatch, walk } from '#core/scan/walk.ts'
import { PART_FILES_MAX, type WalkStep, walkFolders } from '#core/scan/walk-folders.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'

function makeFolder(t: Test, files: string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'carrel-walk-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
  return root
}

/** Root may read everything, so this process runs as another user for a moment. */
function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(65534)
  try {
    return work()
  } finally {
    process.seteuid?.(0)
  }
}

const all = { excludedPatterns: null, allowedFormats: null, known: new Map<string, string>() }
const steps = (root: string, more: Partial<typeof all> | object = {}): WalkStep[] =>
  [...walkFolders({ root, ...all, ...more })].filter(({ kind }) => kind !== 'devices')
const paths = (found: WalkStep[]) =>
  found.flatMap((step) =>
    step.kind === 'changed' ? step.item.names.map((name) => (step.item.folder === '' ? name : `${step.item.folder}/${name}`)) : [],
  )

t.test('books are found by their extension, in natural order within a folder, without the folders of systems', async (t) => {
  const root = makeFolder(t, [
    'Saga/Saga 10.cbz',
    'Saga/Saga 2.cbz',
    'Saga/SAGA 1.CBZ',
    'Saga/Saga 2-4.cbz',
    'Saga/notes.txt',
    'Saga/.hidden.cbz',
    'Saga/cbz',
    'a.epub',
    'b.pdf',
    'c.cbr',
    'd.rar',
    'e.zip',
    'f.cb7',
    'g.cbt',
    '.trash/x.cbz',
    '@eaDir/x.cbz',
    'Deep/__MACOSX/x.cbz',
    '#recycle/x.cbz',
    '#snapshot/GMT+00-2026.11.01-00.00.00/Saga/Saga 2.cbz',
    'Deep/~snapshot/daily/x.cbz',
    'Deep/@Recently-Snapshot/y/x.cbz',
    'new\nline/📚 café.cbz',
    'Deep/er/and/deeper.cbz',
  ])
  mkdirSync(join(root, 'folder.cbz'))
  t.same(paths(steps(root)).sort(), [
    'Deep/er/and/deeper.cbz',
    'Saga/SAGA 1.CBZ',
    'Saga/Saga 10.cbz',
    'Saga/Saga 2-4.cbz',
    'Saga/Saga 2.cbz',
    'a.epub',
    'b.pdf',
    'c.cbr',
    'd.rar',
    'e.zip',
    'f.cb7',
    'g.cbt',
    'new\nline/📚 café.cbz',
  ])
  t.same(
    paths(steps(root)).filter((path) => path.startsWith('Saga')),
    ['Saga/SAGA 1.CBZ', 'Saga/Saga 2.cbz', 'Saga/Saga 2-4.cbz', 'Saga/Saga 10.cbz'],
  )
  t.same(paths(steps(root, { allowedFormats: ['pdf', 'epub'] })), ['a.epub', 'b.pdf'])
})

t.test('size and time are exact', async (t) => {
  const root = makeFolder(t, ['a.cbz'])
  truncateSync(join(root, 'a.cbz'), 6_000_000_000)
  utimesSync(join(root, 'a.cbz'), 1_700_000_000.123456, 1_700_000_000.123456)
  const [step] = steps(root)
  t.ok(step?.kind === 'changed')
  if (step?.kind !== 'changed') return
  t.same(step.item.sizes, [6_000_000_000])
  t.equal(step.item.mtimesNs[0]! / 1000n, 1_700_000_000_123_456n)
})

t.test('later volumes are not books, except without their first volume', async (t) => {
  const root = makeFolder(t, [
    'v/x.part1.rar',
    'v/x.part2.rar',
    'v/x.r00',
    'w/y.part01.rar',
    'w/y.part02.rar',
    'o/lost.part2.rar',
    'z/old.rar',
    'z/old.r00',
  ])
  t.same(paths(steps(root)).sort(), ['o/lost.part2.rar', 'v/x.part1.rar', 'w/y.part01.rar', 'z/old.rar'])
})

t.test('a folder or a file that is replaced by a link during the walk reveals nothing', async (t) => {
  const root = makeFolder(t, ['a/1.cbz', 'b/below/2.cbz', 'c/3.cbz'])
  const outside = makeFolder(t, ['below/secret.cbz', 'secret.cbz', '3.cbz'])
  const found: WalkStep[] = []
  for (const step of walkFolders({ root, ...all })) {
    found.push(step)
    if (found.length > 1) continue
    // The walk has read that these are folders, and has not opened them yet.
    for (const folder of ['b', 'c']) {
      renameSync(join(root, folder), join(root, `.was-${folder}`))
      symlinkSync(outside, join(root, folder))
    }
  }
  t.same(paths(found), ['a/1.cbz'])
  t.match(
    found.filter(({ kind }) => kind === 'unreadable').map(({ item }) => item),
    [
      { path: 'b', message: /replaced|not a folder/ },
      { path: 'c', message: /replaced|not a folder/ },
    ],
  )
})

t.test('a parent folder that becomes a link during the walk reveals nothing', async (t) => {
  const root = makeFolder(t, ['a/1.cbz', 'a/below/2.cbz'])
  const outside = makeFolder(t, ['below/secret.cbz'])
  const found: WalkStep[] = []
  for (const step of walkFolders({ root, ...all })) {
    if (step.kind === 'devices') continue
    found.push(step)
    if (found.length > 1) continue
    renameSync(join(root, 'a'), join(root, '.was-a'))
    symlinkSync(outside, join(root, 'a'))
  }
  t.same(paths(found), ['a/1.cbz'])
  t.match(found.at(-1), { kind: 'unreadable', item: { path: 'a/below', message: /replaced/ } })
})

t.test('links are counted but not followed, so circles end', async (t) => {
  const root = makeFolder(t, ['a/1.cbz'])
  symlinkSync('..', join(root, 'a', 'up'))
  symlinkSync('loop', join(root, 'loop'))
  symlinkSync('/', join(root, 'everything'))
  symlinkSync('1.cbz', join(root, 'a', '2.cbz'))
  linkSync(join(root, 'a', '1.cbz'), join(root, 'a', '3.cbz'))
  const found = steps(root)
  t.same(paths(found), ['a/1.cbz', 'a/3.cbz'])
  t.same(found.flatMap((step) => (step.kind === 'symlinks' ? [step.item] : [])).sort(), ['a/2.cbz', 'a/up', 'everything', 'loop'])
})

t.test('unreadable places are reported with their reason', async (t) => {
  const root = makeFolder(t, ['open/1.cbz', 'shut/2.cbz'])
  chmodSync(join(root, 'shut'), 0o000)
  chmodSync(root, 0o755)
  t.teardown(() => chmodSync(join(root, 'shut'), 0o755))
  const found = asNobody(() => steps(root))
  t.same(paths(found), ['open/1.cbz'])
  t.match(found, [{}, { kind: 'unreadable', item: { path: 'shut', message: /may not read/ } }])
})

t.test('names that are not UTF-8 are reported', async (t) => {
  const root = makeFolder(t, ['a/1.cbz'])
  writeFileSync(Buffer.concat([Buffer.from(`${root}/a/caf`), Buffer.from([0xe9]), Buffer.from('.cbz')]), 'latin1')
  mkdirSync(Buffer.concat([Buffer.from(`${root}/f`), Buffer.from([0xff])]))
  writeFileSync(join(root, 'a', 'replacement \uFFFD.cbz'), 'this one is honest')
  const found = steps(root)
  t.same(paths(found), ['a/1.cbz', 'a/replacement \uFFFD.cbz'])
  t.match(
    found.filter((step) => step.kind === 'unreadable').map(({ item }) => item),
    [{ message: /UTF-8/ }, { message: /UTF-8/ }],
  )
})

t.test('an unchanged folder is reported as one entry, a changed one in full', async (t) => {
  const root = makeFolder(t, ['a/1.cbz', 'a/2.cbz', 'b/1.cbz'])
  const known = new Map<string, string>()
  for (const step of steps(root)) if (step.kind === 'changed') known.set(step.item.folder, step.item.digest as string)
  const unchanged = () =>
    steps(root, { known }).flatMap((step) => (step.kind === 'unchanged' ? [`${step.item.folder}:${step.item.files}`] : []))
  t.same(unchanged().sort(), ['a:2', 'b:1'])
  utimesSync(join(root, 'a', '2.cbz'), 1000, 1000)
  t.same(unchanged(), ['b:1'], 'another time')
  writeFileSync(join(root, 'b', '1.cbz'), 'longer than before')
  utimesSync(join(root, 'b', '1.cbz'), 1000, 1000)
  t.same(unchanged(), [], 'another size')
  rmSync(join(root, 'b', '1.cbz'))
  t.same(unchanged(), [], 'no file at all')
})

t.test('of a folder without books, one walk reports the file that describes a series, also that it is gone', async (t) => {
  const root = makeFolder(t, ['Manga/series.json', 'Manga/Vol 1/1.cbz', 'Empty/notes.txt', 'series.json', 'Saga/1.cbz', 'Saga/series.json'])
  mkdirSync(join(root, 'Gone', 'Vol 1'), { recursive: true })
  const described = new Set(['Gone', 'Empty', 'Saga', 'Elsewhere'])
  const found = (more: object = {}) =>
    steps(root, { described, ...more }).flatMap((step) =>
      step.kind === 'seriesFiles' ? [[step.item.path, step.item.seriesFile !== null]] : [],
    )
  t.same(found().sort(), [
    ['Gone', false],
    ['Manga', true],
  ])
  const known = new Map<string, string>()
  for (const step of steps(root)) if (step.kind === 'changed') known.set(step.item.folder, step.item.digest as string)
  t.same(found({ known }), found(), 'also when nothing has changed')
  t.same(found({ start: 'Manga', share: { index: 0, of: 2 } }), [['Manga', true]])
  t.same(found({ start: 'Manga', share: { index: 1, of: 2 }, described: new Set(['Manga']) }), [])
  t.same(found({ explains: true }), [])
})

t.test('walks that share a library, or begin in the middle of it, find what one walk of all of it finds', async (t) => {
  const root = makeFolder(t, [
    'Calibre/metadata.db',
    ...['Ann', 'Bob', 'Cid', 'Dan'].flatMap((name, id) => ['epub', 'pdf'].map((format) => `Calibre/${name}/Title (${id})/Title.${format}`)),
    ...[2011, 2016, 2020, 2025].map((year) => `DC/Batman (${year})/1.cbz`),
    ...['1.cbz', 'One (2011)/1.cbz', 'Two (2012)/1.cbz', 'Three (2013)/1.cbz'].map((path) => `Mixed/${path}`),
    ...['Café', 'CAFÉ', 'Cafe\u0301', 'cafe\u0301'].map((folder) => `${folder}/1.cbz`),
  ])
  const found = (start: string, of: number) =>
    Array.from({ length: of }, (_, index) => steps(root, { strategy: 'auto', start, share: { index, of } }))
      .flat()
      .flatMap((step) => {
        if (step.kind === 'changed') return [JSON.stringify([step.item.folder, step.item.names, step.item.decision])]
        return step.kind === 'alike' ? [JSON.stringify(step.item)] : []
      })
      .sort()
  const whole = found('', 1)
  const count = (text: string) => whole.filter((line) => line.includes(text)).length
  t.same([count('["Title.epub"],{"kind":"calibre"'), count('"isPublished":true'), whole.length], [4, 4, 19])
  for (const start of ['', 'Calibre', 'Calibre/Ann', 'Calibre/Ann/Title (0)', 'DC', 'DC/Batman (2025)', 'Mixed', 'Mixed/One (2011)']) {
    const isBelow = (line: string) => start === '' || `${JSON.parse(line)[0]}/`.startsWith(`${start}/`)
    for (const shares of [1, 2, 3, 4]) t.same(found(start, shares), whole.filter(isBelow), `${start || 'all'} by ${shares}`)
  }
})

t.test('a big folder comes in parts, the last with the digest', async (t) => {
  const names = Array.from({ length: PART_FILES_MAX * 2 + 10 }, (_, index) => `big/${index}.cbz`)
  const root = makeFolder(t, names)
  const parts = steps(root).flatMap((step) => (step.kind === 'changed' ? [step.item] : []))
  t.same(
    parts.map((part) => [part.names.length, part.digest !== null]),
    [
      [PART_FILES_MAX, false],
      [PART_FILES_MAX, false],
      [10, true],
    ],
  )
  t.equal(parts[0]?.names[10], '10.cbz')
})

t.test('excluded patterns leave out what they name', async (t) => {
  const table: [patterns: string, path: string, excluded: boolean][] = [
    ['*.pdf', 'a/b.PDF', true],
    ['*.pdf', 'a/b.cbz', false],
    ['extras', 'deep/Extras', true],
    ['a/*', 'a/b', true],
    ['a/*', 'x/a/b', false],
    ['**/b', 'x/y/b', true],
    ['a/**/z.cbz', 'a/b/c/z.cbz', true],
    ['a/**', 'a/b/c', true],
    ['/a', 'a', true],
    ['/a', 'b/a', false],
    ['a/', 'a', true],
    ['vol ?.cbz', 'vol 1.cbz', true],
    ['vol ?.cbz', 'vol 12.cbz', false],
    ['[a-c]*.cbz', 'b1.cbz', true],
    ['[!a-c]*.cbz', 'b1.cbz', false],
    ['*.{pdf,epub}', 'x.epub', true],
    ['{a,b}{1,2}', 'b2', true],
    ['#recycle*', '#recycle bin', true],
    ['[', '[', true],
    ['📚*', '📚 x', true],
    ['one\n\n  two  \n', 'two', true],
  ]
  for (const [patterns, path, excluded] of table) {
    const slash = path.lastIndexOf('/') + 1
    t.equal(compileExcludes(patterns)(path.slice(0, slash), path.slice(slash)), excluded, `${JSON.stringify(patterns)} on ${path}`)
  }
  t.throws(() => compileExcludes('[z-a]x'), /range/)
  const doubled = '{a,b}'.repeat(6)
  for (const costly of [
    `${doubled}${'{a}'.repeat(300)}`,
    Array.from({ length: 200 }, () => `${doubled}${'{a}'.repeat(40)}${'x'.repeat(800)}`).join('\n'),
    Array.from({ length: 200 }, () => `${doubled}${'/'.repeat(900)}x`).join('\n'),
  ])
    t.throws(() => compileExcludes(costly), /pairs of braces|characters/)
  t.throws(() => compileExcludes('{a,b}'.repeat(20)), /variants/)
  // Empty braces leave no characters to count.
  t.throws(
    () => compileExcludes(Array.from({ length: 78 }, () => `{${','.repeat(98)}}${'{}'.repeat(49)}`).join('\n')),
    /too many braces together/,
  )
  t.doesNotThrow(() => compileExcludes(Array.from({ length: 200 }, (_, index) => `${index}/*.{jpg,png,gif}{,.bak}`).join('\n')))
  t.throws(() => compileExcludes('x\n'.repeat(1000)), /at most/)
  const root = makeFolder(t, ['keep/1.cbz', 'drop/1.cbz', 'keep/drop/2.cbz', 'keep/sample.cbz'])
  t.same(paths(steps(root, { excludedPatterns: 'drop\n*sample*' })), ['keep/1.cbz'])
})

t.test('no excluded pattern takes long, neither to read nor to compare', onlyCost, async (t) => {
  const begun = threadCpuMs()
  const many = Array.from({ length: 200 }, () => `${'{a,b}'.repeat(6)}${'/'.repeat(900)}x`).join('\n')
  t.throws(() => compileExcludes(many), /pairs of braces|characters/)
  compileExcludes(`${'*a'.repeat(200)}b`)('', 'a'.repeat(255))
  t.ok(threadCpuMs() - begun < 2_000)
})

async function collect(batches: AsyncIterable<WalkBatch>): Promise<WalkBatch[]> {
  const found: WalkBatch[] = []
  for await (const batch of batches) found.push(batch)
  return found
}

const countFiles = (batches: readonly WalkBatch[]) =>
  batches.flatMap((batch) => batch.changed).reduce((sum, part) => sum + part.names.length, 0)

t.test('in its thread the walk finds the same, waits for its consumer, and can be abandoned', async (t) => {
  const names = Array.from({ length: 30 }, (_, folder) => Array.from({ length: 400 }, (_, index) => `f${folder}/${index}.cbz`)).flat()
  const root = makeFolder(t, names)
  const options = { root, ...all }
  const batches = await collect(walk(options, new AbortController().signal))
  t.equal(countFiles(batches), names.length)
  const folders = batches.flatMap((batch) => batch.changed.map((part) => part.folder))
  t.equal(new Set(folders).size, 30, 'threads that share a library leave nothing out')
  t.equal(folders.length, 30, 'and tell nothing twice')

  const slow = walk(options, new AbortController().signal)
  const first = await slow.next()
  t.equal(first.done, false)
  await slow.return(undefined)
  t.equal(countFiles(await collect(walk(options, new AbortController().signal))), names.length, 'the next walk has a thread again')

  const stop = new AbortController()
  const stopped = walk(options, stop.signal)
  await stopped.next()
  stop.abort(new Error('enough'))
  await t.rejects(collect(stopped), { message: 'enough' })

  await t.rejects(collect(walk({ ...options, excludedPatterns: '[z-a]' }, new AbortController().signal)), /range/)
})

t.test('files that are not complete by their names are left out, and named', (t) => {
  const names = ['b.cbz.part', 'c.CBZ.crdownload', 'd.cbz.!qB', 'e.cbz.tmp', '~$f.cbz', '.fuse_hidden0001', '.nfs0001', 'g.epub.partial']
  const root = makeFolder(t, ['a.cbz', ...names])
  mkdirSync(join(root, 'folder.part'))
  writeFileSync(join(root, 'folder.part', '1.cbz'), '')
  const found = steps(root)
  t.same(paths(found).sort(), ['a.cbz', 'folder.part/1.cbz'])
  const out = found.flatMap((step) => (step.kind === 'leftOut' ? [step.item] : []))
  t.same(out.map(({ path }) => path).sort(), names.toSorted())
  t.ok(out.every(({ reason }) => reason === 'incomplete'))
  t.end()
})
