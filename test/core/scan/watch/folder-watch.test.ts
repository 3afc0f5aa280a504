import { spawn } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { NODE_FLAGS } from '#api/node-tuning.mjs'
import { changedMounts, FolderWatch, type WatchOrder, type WatchReport } from '#core/scan/watch/folder-watch.ts'
import { until } from '#test/support/library-fixture.ts'

t.setTimeout(120_000)

/** A watched folder. */
function openFolder(t: Test, files: readonly string[], order: Partial<WatchOrder> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-watch-'))
  const root = join(folder, 'library')
  const put = (path: string, content = path) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  mkdirSync(root)
  for (const file of files) put(file)
  const reports: WatchReport[] = []
  const given = { root, excludedPatterns: null, allowedFormats: null, isForced: true, hasLinks: false, quietMs: 0, ...order }
  const watch = new FolderWatch(given, (report) => reports.push(report))
  t.teardown(() => {
    watch.close()
    rmSync(folder, { recursive: true, force: true })
  })
  /** The folders of all reports since the last call, once nothing is gathered; null for the whole library. */
  const next = async (): Promise<(string | null)[]> => {
    const changes = () => reports.filter((report) => report.kind === 'changed')
    const isDone = () => changes().at(-1)?.isGathering === false && reports.at(-1)?.kind !== 'gathering'
    await until(() => isDone())
    const folders = changes().flatMap((report) => (report.isWhole ? [null] : report.folders))
    reports.length = 0
    return folders
  }
  const counted = () => reports.findLast((report) => report.kind === 'watching')
  return { folder, root, put, reports, watch, next, counted }
}

t.test('only folders with changed books are reported, also those that came later', async (t) => {
  const { root, put, next, counted } = openFolder(
    t,
    ['A/1.cbz', 'B/sub/2.cbz', '.hidden/3.cbz', '@eaDir/4.cbz', 'out/5.cbz', 'empty/x.txt'],
    {
      excludedPatterns: 'out\nskipped*',
      allowedFormats: ['cbz'],
    },
  )
  t.match(counted(), { folders: 5, silent: 0 })
  put('A/new.cbz')
  t.same(await next(), ['A'])
  put('A/cover.txt')
  put('A/other.pdf')
  put('A/skipped.cbz')
  put('A/new.cbz.part')
  put('out/6.cbz')
  put('B/sub/2.opf')
  t.same(await next(), ['B/sub'], 'what a scan leaves out is none of them')
  put('C/deep/deeper/1.cbz')
  t.same(await next(), ['C'])
  put('C/deep/deeper/2.cbz')
  t.same(await next(), ['C/deep/deeper'])
  put('empty/1.cbz')
  t.same(await next(), ['empty'], 'a folder that had no books')
  chmodSync(join(root, 'A'), 0o700)
  utimesSync(join(root, 'B'), 1_000, 1_000)
  put('top.cbz')
  t.same(await next(), [''], 'rights and times of folders are no changes')
  renameSync(join(root, 'A/new.cbz.part'), join(root, 'A/done.cbz'))
  t.same(await next(), ['A'])
})

t.test('names that begin with an ellipsis are reported, and hidden ones are not', async (t) => {
  const { root, put, next } = openFolder(t, ['A/1.cbz', '...sub/1.cbz'])
  put('A/.hidden.cbz')
  put('...sub/...And Justice for All.cbz')
  t.same(await next(), ['...sub'])
  put('...new/1.cbz')
  t.same(await next(), ['...new'])
  renameSync(join(root, 'A/.hidden.cbz'), join(root, 'A/..shown.cbz'))
  t.same(await next(), ['A'])
})

t.test('links that come, go or lead elsewhere are reported where scans follow links', async (t) => {
  for (const hasLinks of [true, false]) {
    const { folder, root, put, next } = openFolder(t, ['A/1.cbz'], { hasLinks })
    const expect = async (links: string[], message: string) => {
      put('A/1.cbz')
      t.same((await next()).toSorted(), ['A', ...(hasLinks ? links : [])], message)
    }
    symlinkSync(folder, join(root, 'link'))
    await expect(['link'], 'a new one')
    symlinkSync(root, join(root, 'A-new'))
    renameSync(join(root, 'A-new'), join(root, 'link'))
    await expect(['A-new', 'link'], 'another one in its place')
    rmSync(join(root, 'link'))
    await expect(['link'], 'one that is gone')
  }
})

t.test('a folder that was moved is found at its new place before it is missed at the old one', async (t) => {
  const { root, put, next, counted } = openFolder(t, ['A/one/1.cbz', 'B/2.cbz'])
  renameSync(join(root, 'A/one'), join(root, 'B/moved'))
  t.same(await next(), ['B/moved', 'A/one'])
  put('B/moved/3.cbz')
  t.same(await next(), ['B/moved'])
  rmSync(join(root, 'B'), { recursive: true })
  t.same(new Set(await next()), new Set(['B', 'B/moved']))
  put('A/4.cbz')
  t.same(await next(), ['A'])
  t.equal(counted(), undefined)
  put('B/5.cbz')
  await until(() => (counted()?.folders === 3 ? true : null))
  t.same(await next(), ['B'], 'a folder of the same name')
})

t.test('a file is reported when it is still, also while others in its folder change', async (t) => {
  // Longer than this process may stand still on a busy machine: the growing file would be still for as long.
  const quietMs = 3_000
  const { root, put, reports } = openFolder(t, ['A/1.cbz'], { quietMs })
  put('A/complete.cbz')
  const began = Date.now()
  const growing = setInterval(() => appendFileSync(join(root, 'A/growing.cbz'), 'more'), 50)
  t.teardown(() => clearInterval(growing))
  const changes = () => reports.filter((report) => report.kind === 'changed')
  await until(() => changes().length > 0)
  t.ok(Date.now() - began >= quietMs - 50)
  t.match(changes(), [{ folders: ['A'], isGathering: true }])
  // Several times the quiet time is not needed: the growing file would be in the same report.
  clearInterval(growing)
  await until(() => changes().length > 1)
  t.match(changes()[1], { folders: ['A'], isGathering: false })
})

t.test('more than 5,000 changes are one of the whole library', async (t) => {
  const { put, next } = openFolder(t, ['A/1.cbz'], { quietMs: 2_000 })
  for (let n = 0; n <= 5_000; n++) put(`A/${n}.cbz`, '')
  t.same(await next(), [null])
  put('A/last.cbz')
  t.same(await next(), ['A'])
})

t.test('when the list of the kernel was full, everything is watched again', async (t) => {
  const { root, put, next, counted } = openFolder(t, ['A/1.cbz'])
  // Without a turn of the event loop in between, as while a thread waits for a disk. The changes of the first folder fill the list.
  for (let n = 0; n < 9_000; n++) {
    writeFileSync(join(root, 'A/a.cbz'), 'x')
    writeFileSync(join(root, 'A/b.cbz'), 'x')
  }
  put('lost/1.cbz')
  t.ok((await next()).includes(null))
  put('lost/2.cbz')
  t.same(await next(), ['lost'], 'a folder whose event was lost')
  t.equal(counted(), undefined)
})

t.test('a root that is missing, comes back or is replaced', async (t) => {
  const { folder, root, put, reports, next } = openFolder(t, ['A/1.cbz'])
  renameSync(root, join(folder, 'away'))
  await until(() => reports.some((report) => report.kind === 'unavailable'))
  t.match(reports.at(-1), { kind: 'unavailable', problem: /does not exist/ })
  renameSync(join(folder, 'away'), root)
  reports.length = 0
  t.same(await next(), [null], 'all may have changed meanwhile')
  put('A/2.cbz')
  t.same(await next(), ['A'])
})

t.test('mounts are compared by their places', (t) => {
  const line = (id: number, place: string) => `${id} 1 0:1 / ${place} rw - ext4 /dev/sda rw`
  const before = [line(1, '/'), line(2, '/mnt/a')].join('\n')
  t.same(changedMounts(before, before), [])
  t.same(changedMounts(before, [line(1, '/'), line(3, '/mnt/with\\040space')].join('\n')), ['/mnt/with space', '/mnt/a'])
  t.end()
})

t.test('a system without watches left is reported', async (t) => {
  const { folder, root } = openFolder(t, ['A/1.cbz', 'B/1.cbz', 'C/1.cbz'])
  const program = join(folder, 'watching.ts')
  const source = new URL('../../../../core/scan/watch/folder-watch.ts', import.meta.url)
  writeFileSync(
    program,
    `import { FolderWatch } from '${source}'
     const order = { root: ${JSON.stringify(root)}, excludedPatterns: null, allowedFormats: null, isForced: false, hasLinks: false, quietMs: 0 }
     const watch = new FolderWatch(order, (report) => console.log(JSON.stringify(report)))
     watch.close()`,
  )
  const script = `echo 2 > /proc/sys/user/max_inotify_watches && exec "$@"`
  const words = ['--user', '--map-root-user', 'sh', '-c', script, 'sh', process.execPath, ...NODE_FLAGS, program]
  const child = spawn('unshare', words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  await new Promise((resolve) => child.on('close', resolve))
  if (/unshare|max_inotify_watches: /.test(output)) return t.comment(`Not checked, because this system has no user namespaces: ${output}`)
  t.match(JSON.parse(output), { kind: 'unavailable', problem: /no more watches \(after 2 folders\)\. Raise fs\.inotify\.max_user_watches/ })
})
