import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Page } from '#core/fields/analysis.ts'
import { findOutsideCorpus } from '#test/support/corpus.ts'
import { fileAt } from '#test/support/file-at.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { BookProblem } from '#workers/book-problem.ts'
import { analyze } from '#workers/formats/analyze.ts'
import { extractRar, listRar, type RarEntry } from '#workers/formats/rar/rar.ts'
import { extractRarPages, readRarPage } from '#workers/formats/rar/rar-page.ts'

const corpus = findOutsideCorpus()
const execFileAsync = promisify(execFile)

function write(folder: string, name: string, bytes: Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

async function extractAll(path: string, entries: readonly RarEntry[]) {
  const found: { name: string; content: string; fault: BookProblem | null }[] = []
  await extractRar(fileAt(path), entries, (entry, content, fault) => {
    found.push({ name: entry.name, content: Buffer.from(content).toString(), fault })
    return true
  })
  return found
}

t.test('lists and extracts in archive order, with odd names unchanged', async (t) => {
  const parts = [
    { name: 'b.txt', data: Buffer.from('second in name') },
    { name: '../../a 🐟\n.txt', data: Buffer.from('names are data') },
    { name: 'empty', data: Buffer.alloc(0) },
  ]
  const path = write(t.testdir(), 'böok 🐟.rar', buildRar(parts))
  const { entries, solid, incomplete } = await listRar(fileAt(path))
  t.same([solid, incomplete], [false, null])
  t.same(
    entries.map(({ name, bytes, encrypted }) => [name, bytes, encrypted]),
    parts.map(({ name, data }) => [name, data.length, false]),
  )
  t.same(
    await extractAll(path, entries),
    parts.map(({ name, data }) => ({ name, content: data.toString(), fault: null })),
  )
  t.same(
    (await extractAll(path, [entries[1]!])).map(({ name }) => name),
    [parts[1]!.name],
    'only the wanted entries',
  )
})

t.test('a damaged entry does not affect the others', async (t) => {
  const good = Buffer.alloc(5000, 'g')
  const path = write(
    t.testdir(),
    'book.rar',
    buildRar([
      { name: 'one', data: good },
      { name: 'bad sum', data: good, crc32: 1 },
      { name: 'locked', data: good, encrypted: true },
      { name: 'huge', data: good, bytes: 2 ** 40 },
      { name: 'last', data: good },
    ]),
  )
  const found = await extractAll(path, (await listRar(fileAt(path))).entries)
  t.same(
    found.map(({ name, fault }) => [name, fault?.problem.type ?? null]),
    [
      ['one', null],
      ['bad sum', 'page_extraction'],
      ['locked', 'page_extraction'],
      ['huge', 'page_extraction'],
      ['last', null],
    ],
  )
  t.match(found[2]?.fault?.message, /password/)
  t.match(found[3]?.fault?.message, /more than is allowed/)
})

t.test('a truncated archive gives its complete entries', async (t) => {
  const bytes = buildRar(['one', 'two', 'three'].map((name) => ({ name, data: Buffer.alloc(1000, name) })))
  for (const quarter of [1, 2, 3]) {
    const path = write(t.testdir(), 'book.rar', bytes.subarray(0, (bytes.length * quarter) / 4))
    const { entries } = await listRar(fileAt(path))
    const found = await extractAll(path, entries)
    t.ok(found.filter(({ fault }) => fault === null).length < 3, `${quarter} quarters`)
    t.ok(
      found.some(({ fault }) => fault !== null),
      `${quarter} quarters: the truncation is reported`,
    )
  }
  for (const rubbish of [Buffer.alloc(0), bytes.subarray(0, 3), Buffer.from('not a RAR at all')]) {
    await t.rejects(listRar(fileAt(write(t.testdir(), 'book.rar', rubbish))), BookProblem)
  }
  await t.rejects(listRar(fileAt('/nowhere/book.rar')), BookProblem)
})

t.test('pages are read one by one and all at once', async (t) => {
  const numbered = await numberedPages(4)
  for (const solid of [false, true, 'entries'] as const) {
    const folder = t.testdir()
    const path = write(folder, 'book.cbr', buildRar(numbered, { solid }))
    const { pages, pageSource } = await analyze({ ...fileAt(path), verifyPages: false })
    t.equal(pageSource, solid ? 'rar_solid' : 'rar')
    t.same(
      pages.map((page) => [page.name, page.width]),
      [1, 2, 3, 4].map((number) => [`page${number}.png`, 40 + number]),
    )
    const outcome = await readRarPage({ ...fileAt(path), index: 2, page: pages[2]! })
    t.ok('bytes' in outcome && Buffer.from(outcome.bytes).equals(numbered[1]!.data) && outcome.mediaType === 'image/png')

    const cache = join(folder, 'cache', 'deep')
    t.equal(await extractRarPages({ ...fileAt(path), pages, folder: cache }), null)
    t.same(readdirSync(cache).sort(), ['0', '1', '2', '3'])
    for (const [index, page] of [...numbered].reverse().entries()) t.ok(readFileSync(join(cache, String(index))).equals(page.data))
  }
})

t.test('missing and damaged pages are outcomes', async (t) => {
  const folder = t.testdir()
  const [, two, three] = await numberedPages(3)
  const parts = [
    { name: 'a/page.png', data: two!.data },
    { name: 'a/page2.png', data: two!.data },
    { name: 'b/page.png', data: three!.data, crc32: 7 },
  ]
  const path = write(folder, 'book.cbr', buildRar(parts))
  const { pages } = await analyze({ ...fileAt(path), verifyPages: false })
  t.match(await readRarPage({ ...fileAt(path), index: 2, page: pages[2]! }), {
    problem: { type: 'page_extraction', fatal: false, message: /damaged/ },
  })
  const gone: Page = { ...pages[0]!, name: 'c.png' }
  t.match(await readRarPage({ ...fileAt(path), index: 0, page: gone }), { problem: { type: 'page_extraction', message: /no longer/ } })
  t.match(await extractRarPages({ ...fileAt(path), pages: [...pages, gone], folder }), {
    type: 'page_extraction',
    fatal: false,
    details: { count: 2 },
  })
  t.same(
    readdirSync(folder)
      .filter((name) => /^\d$/.test(name))
      .sort(),
    ['0', '1'],
  )
  t.match(await extractRarPages({ ...fileAt(path), pages: [gone], folder }), { fatal: true })
  t.match(await extractRarPages({ ...fileAt('/nowhere.rar'), pages, folder }), { type: 'parser', fatal: true })
})

t.test('sets of several volumes', { skip: !corpus }, async (t) => {
  const folder = `${corpus!.folder}comics/cbr/`
  const sets = ['multivolume-rar5/emakimono.part1.rar', 'multivolume-rar4-old-names/page-blanche.rar']
  for (const [index, name] of sets.entries()) {
    const analysis = await analyze({ ...fileAt(folder + name), verifyPages: false })
    t.same([analysis.problems, analysis.pageCount], [[], [8, 9][index]], name)
    const last = analysis.pages.length - 1
    const outcome = await readRarPage({ ...fileAt(folder + name), index: last, page: analysis.pages[last]! })
    t.ok('bytes' in outcome && outcome.bytes.length === analysis.pages[last]!.bytes, name)
  }
  for (const name of ['multivolume-rar5/emakimono.part2.rar', 'multivolume-rar4-old-names/page-blanche.r00']) {
    t.match((await analyze({ ...fileAt(folder + name), verifyPages: false })).problems, [{ type: 'parser', message: /later part/ }], name)
  }
  const alone = join(t.testdir(), 'emakimono.part1.rar')
  writeFileSync(alone, readFileSync(folder + sets[0]))
  const { problems, pageCount } = await analyze({ ...fileAt(alone), verifyPages: false })
  t.match(problems, [
    { type: 'parser', message: /emakimono.part2.rar/ },
    { type: 'page_extraction', fatal: false },
  ])
  t.ok(pageCount >= 2)
  mkdirSync(join(dirname(alone), 'emakimono.part2.rar'))
  const again = await analyze({ ...fileAt(alone), verifyPages: false })
  t.same(again.problems, problems, 'a folder does not count as a volume')
})

t.test('compressed and solid pages have the same checksums as the same pages elsewhere', { skip: !corpus }, async (t) => {
  const sums = async (name: string) => {
    const path = `${corpus!.folder}comics/cbr/${name}`
    const { entries } = await listRar(fileAt(path))
    const hashes = new Map<string, string>()
    await extractRar(fileAt(path), entries, (entry, content, fault) => {
      t.equal(fault, null, entry.name)
      hashes.set(entry.name, createHash('sha256').update(content).digest('hex'))
      return true
    })
    return [...hashes].filter(([page]) => page.endsWith('.jpg')).sort()
  }
  t.same(await sums('haruko-rar5-solid.cbr'), await sums('haruko-rar4.cbr'))
})

/** The target of a descriptor of this process; empty when it is closed by now. */
function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}

t.test('a failure leaves no descriptors and no listeners behind', { skip: !corpus }, async (t) => {
  const bomb = `${corpus!.folder}broken/cbr/junrar-m3-1gb-claim.cbr`
  const missing = `${corpus!.folder}broken/cbr/volume-set-missing-last/lost.part1.rar`
  // Only of these archives: other test files share this process.
  const open = () => readdirSync('/proc/self/fd').filter((fd) => [bomb, missing].includes(targetOf(fd))).length
  const listeners = process.listenerCount('unhandledRejection')
  for (let round = 0; round < 2; round++) {
    for (const path of [bomb, missing]) await extractAll(path, (await listRar(fileAt(path))).entries)
  }
  const [found] = await extractAll(bomb, (await listRar(fileAt(bomb))).entries)
  t.match(found?.fault?.message, /more memory/)
  t.equal(open(), 0)
  t.equal(process.listenerCount('unhandledRejection'), listeners)
})

t.test('a header cannot make the engine allocate memory', { skip: !corpus }, async (t) => {
  const bomb = `${corpus!.folder}broken/cbr/junrar-m3-1gb-claim.cbr`
  // In a separate process: this one includes the memory of other test files.
  const program = `
    import { extractRar, listRar } from ${JSON.stringify(new URL('../../../../workers/formats/rar/rar.ts', import.meta.url).href)}
    const file = ${JSON.stringify(fileAt(bomb))}
    for (let round = 0; round < 5; round++) await extractRar(file, (await listRar(file)).entries, () => true)
    console.log(process.resourceUsage().maxRSS)`
  const { stdout } = await execFileAsync(process.execPath, ['--input-type=module', '--eval', program], { env: {} })
  const peakMb = Number(stdout) / 1024
  t.ok(peakMb > 0 && peakMb < 500, `${peakMb.toFixed(0)} MB at most; the header claims a gigabyte`)
})
