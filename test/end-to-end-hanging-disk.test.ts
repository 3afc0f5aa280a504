import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { comic, until } from '#test/support/library-fixture.ts'
import { mountDisk } from '#test/support/mounted-disk.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'

t.setTimeout(480_000)

/** Far more than an answer takes that waits for no disk. */
const QUICK_MS = 8_000
/** The first calls wait for as long as a sleeping disk takes to start, see core/foundation/disk-calls.ts. */
const LATE_MS = 25_000

t.test('while a disk hangs in every system call, everything else answers within seconds, and it goes on afterwards', async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-hanging-'))
  const [mirrored, mounted, other] = ['mirrored', 'mounted', 'other'].map((name) => join(room, name)) as [string, string, string]
  for (const folder of [mirrored, mounted, other]) mkdirSync(folder)
  const names = Array.from({ length: 12 }, (_, index) => `Saga/${index + 1}.cbz`)
  for (const root of [mirrored, other])
    for (const name of names) {
      mkdirSync(dirname(join(root, name)), { recursive: true })
      writeFileSync(join(root, name), comic(`${root}${name}`, 30))
    }
  const disk = await mountDisk(t, mirrored, mounted)
  if (disk === null) return void t.pass('this process may not mount: the test needs the rights of root and /dev/fuse')
  const server = await startServer({ dataFolder: join(room, 'data'), args: ['--library', mounted, '--library', other] })
  t.teardown(async () => {
    disk.kill('SIGKILL')
    spawnSync('umount', ['-l', mounted])
    await server.stop()
    rmSync(room, { recursive: true, force: true })
  })
  const { data: libraries } = await server.get<{ data: { id: string; path: string }[] }>('/api/v1/libraries')
  for (const { id } of libraries) await awaitScan(server, id, { analyzed: true, timeoutMs: 60_000 })
  const hanging = libraries.find(({ path }) => path === mounted)?.id as string
  const { data: books } = await server.get<{ data: { id: string; filePath: string }[] }>('/api/v1/books?pageSize=500')
  const idsBelow = (root: string) => books.flatMap(({ id, filePath }) => (filePath.startsWith(`${root}/`) ? [id] : []))

  const ask = async (path: string, { method = 'GET', ms = QUICK_MS, body }: { method?: string; ms?: number; body?: object } = {}) => {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { ...server.headers, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ms),
    })
    return { path, status: response.status, text: await response.text() }
  }
  const statusesOf = async (answers: Promise<{ status: number }>[]) => (await Promise.all(answers)).map(({ status }) => status)
  const [onDisk, elsewhere] = [idsBelow(mounted), idsBelow(other)]

  disk.kill('SIGSTOP')
  const late = onDisk.flatMap((id, index) =>
    [`/books/${id}/pages/${index + 2}`, `/books/${id}/file`].map((path) => ask(path, { ms: LATE_MS })),
  )
  const quick = [
    '/books?pageSize=50',
    `/libraries/${hanging}/scan-status`,
    '/scans/active',
    ...elsewhere.map((id) => `/books/${id}/pages/7`),
  ]
  for (const path of quick) t.match(await ask(path), { status: 200 }, 'while the first calls wait')
  t.equal((await fetch(`${server.url}/health`)).status, 200)
  const refused = await Promise.all(late)
  t.same(
    refused.map(({ status }) => status),
    refused.map(() => 503),
  )
  t.match(refused[0]?.text, /ETIMEDOUT|cannot be read/)
  for (const id of onDisk) t.match(await ask(`/books/${id}/pages/20`), { status: 503 }, 'then at once')
  for (const path of quick) t.match(await ask(path), { status: 200 }, 'and everything else answers')

  const saga = join(mounted, 'Saga')
  const silent = { status: 503, text: /does not answer/ }
  t.match(await ask('/libraries', { method: 'POST', body: { name: 'New', path: saga } }), silent, 'a library on this disk')
  t.match(await ask('/libraries/preview-scan', { method: 'POST', body: { path: saga } }), silent)
  const otherId = libraries.find(({ path }) => path === other)?.id
  t.match(await ask(`/libraries/${otherId}`, { method: 'PATCH', body: { path: saga } }), silent, 'a library that moves there')
  t.match(await ask(`/libraries/${otherId}`, { method: 'PATCH', body: { linkTargets: [saga] } }), silent, 'links that lead there')
  t.match(await ask(`/filesystem/browse?path=${encodeURIComponent(saga)}`), silent)
  for (const path of [other, join(other, 'Saga')])
    t.match(await ask(`/filesystem/browse?path=${encodeURIComponent(path)}`), { status: 200 }, 'other folders')
  t.match(await ask('/filesystem/drives'), { status: 200, text: /mounted/ })
  const elsewhereFolder = join(room, 'elsewhere')
  mkdirSync(elsewhereFolder)
  t.match(
    await ask('/libraries', { method: 'POST', body: { name: 'Elsewhere', path: elsewhereFolder, scanImmediately: false } }),
    { status: 201 },
    'a library on another disk, while the disk of one hangs',
  )

  t.match(await ask(`/libraries/${hanging}/scan`, { method: 'POST' }), { status: 202 })
  t.match(await ask(`/libraries/${hanging}/scan-status`), { status: 200 })
  const failed = await awaitScan(server, hanging, { analyzed: false, timeoutMs: 60_000 })
  t.match(failed, { status: 'failed', errors: [/does not answer.*Nothing was changed/] })
  t.match(await ask(`/libraries/${libraries.find(({ path }) => path === other)?.id}/scan`, { method: 'POST' }), { status: 202 })

  disk.kill('SIGCONT')
  await until(async () => (await ask(`/books/${onDisk[0]}/pages/21`)).status === 200)
  t.same(
    await statusesOf(onDisk.map((id) => ask(`/books/${id}/file`))),
    onDisk.map(() => 200),
    'the disk is back',
  )
  t.match(await ask(`/libraries/${hanging}/scan`, { method: 'POST' }), { status: 202 })
  t.match(await awaitScan(server, hanging, { analyzed: true, timeoutMs: 60_000 }), { status: 'completed', errors: [] })
  t.equal((await server.get<{ data: object[] }>('/api/v1/books?pageSize=500')).data.length, books.length)

  // In the middle of a walk.
  disk.kill('SIGSTOP')
  await ask(`/libraries/${hanging}/scan`, { method: 'POST' })
  // The answer itself waits some seconds for the scan to stop.
  t.match(await ask(`/libraries/${hanging}/scan/cancel`, { method: 'POST', ms: 2 * QUICK_MS }), { status: 204 })
  disk.kill('SIGCONT')
})

t.test('a scan fails when a disk stops answering in its middle, and nothing is missing', async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-hanging-'))
  const [mirrored, library, other] = ['mirrored', 'library', 'other'].map((name) => join(room, name)) as [string, string, string]
  const mounted = join(library, 'disk')
  for (const folder of [mirrored, mounted, other]) mkdirSync(folder, { recursive: true })
  for (const folder of [mirrored, join(library, 'here'), other])
    for (let index = 0; index < 3; index++) {
      mkdirSync(join(folder, 'Saga'), { recursive: true })
      writeFileSync(join(folder, `Saga/${index}.cbz`), comic(`${folder}${index}`))
    }
  const disk = await mountDisk(t, mirrored, mounted)
  if (disk === null) return void t.pass('this process may not mount: the test needs the rights of root and /dev/fuse')
  const server = await startServer({ dataFolder: join(room, 'data'), args: ['--library', library, '--library', other] })
  t.teardown(async () => {
    disk.kill('SIGKILL')
    spawnSync('umount', ['-l', mounted])
    await server.stop()
    rmSync(room, { recursive: true, force: true })
  })
  const { data: libraries } = await server.get<{ data: { id: string; path: string }[] }>('/api/v1/libraries')
  for (const { id } of libraries) await awaitScan(server, id, { analyzed: true, timeoutMs: 60_000 })
  const idOf = (root: string) => libraries.find(({ path }) => path === root)?.id as string
  const scan = async (root: string) => {
    const options = { method: 'POST', headers: server.headers, signal: AbortSignal.timeout(QUICK_MS) }
    t.equal((await fetch(`${server.url}/api/v1/libraries/${idOf(root)}/scan`, options)).status, 202)
    return await awaitScan(server, idOf(root), { analyzed: false, timeoutMs: 90_000 })
  }
  const countPresent = async () => (await server.get<{ data: object[] }>('/api/v1/books?pageSize=500')).data.length

  disk.kill('SIGSTOP')
  rmSync(join(library, 'here/Saga/0.cbz'))
  const failing = scan(library)
  t.match(await scan(other), { status: 'completed' }, 'scans of other libraries go on')
  const silence = [/^The disk of .* does not answer\. .*No book was marked as deleted\.$/]
  t.match(await failing, { status: 'failed', errors: silence })
  t.equal(await countPresent(), 9)
  t.match(await scan(library), { status: 'failed', errors: silence }, 'the next scans fail at once')
  t.match(await scan(other), { status: 'completed' })

  disk.kill('SIGCONT')
  await until(async () => (await scan(library)).status === 'completed')
  t.equal(await countPresent(), 8, 'the disk is back, and one file is gone')
})
