import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '#test/support/library-fixture.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { SmallFilesProcess } from '#workers/pool/small-files-process.ts'

t.setTimeout(240_000)

const bytes = buildZip(await numberedPages(2))
const { signal: never } = new AbortController()

function open(t: Test, options: { idleMs?: number; restMs?: number } = {}) {
  const process_ = new SmallFilesProcess({ heapMbMax: 256, ...options })
  // The process does not keep this one alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(async () => {
    clearInterval(alive)
    await process_.close()
  })
  const root = t.testdir()
  const request = (name: string, content: Uint8Array | string = bytes) => {
    writeFileSync(join(root, name), content)
    return { root, path: join(root, name), verifyPages: false, bytes: 1_000 }
  }
  return { process: process_, root, request }
}

t.test('files are analyzed, job after job, by the same process, which ends when idle', async (t) => {
  const { process: small, request } = open(t, { idleMs: 500 })
  const first = await small.analyze([request('a.cbz'), request('b.cbz', 'rubbish')], never)
  t.match(first, [{ pageCount: 2, cover: { jpeg: Uint8Array } }, { problems: [{ type: 'format_detection' }] }])
  const { pid } = small
  t.match(await small.analyze([request('c.cbz')], never), [{ pageCount: 2 }])
  t.equal(small.pid, pid)
  t.ok(small.isFree())
  await until(() => small.pid === null)
  t.ok(small.isFree(), 'a process that was not needed is no loss')
  t.match(await small.analyze([request('d.cbz')], never), [{ pageCount: 2 }], 'the next one starts')
})

t.test('a process that is lost says nothing of its files, and is left alone for a while', async (t) => {
  const { process: small, request } = open(t, { restMs: 300 })
  await small.analyze([request('a.cbz')], never)
  const work = small.analyze([request('b.cbz')], never)
  process.kill(small.pid as number, 'SIGKILL')
  const after = await work
  t.ok(after.length === 0 || after.length === 1, 'it may have been done')
  await until(() => small.pid === null)
  t.notOk(small.isFree())
  await until(() => small.isFree())
  t.match(await small.analyze([request('c.cbz')], never), [{ pageCount: 2 }])
})

t.test('a kill before it is ready', async (t) => {
  const { process: small, request } = open(t)
  const work = small.analyze([request('a.cbz')], never)
  await sleep(20)
  process.kill(small.pid as number, 'SIGKILL')
  t.same(await work, [])
})

t.test('an abort ends the work at once, and the next job has another process', async (t) => {
  const { process: small, request } = open(t)
  await small.analyze([request('a.cbz')], never)
  const { pid } = small
  const controller = new AbortController()
  const work = small.analyze(
    Array.from({ length: 200 }, (_, index) => request(`${index}.cbz`)),
    controller.signal,
  )
  controller.abort()
  t.same(await work, [])
  t.ok(small.isFree())
  t.match(await small.analyze([request('b.cbz')], never), [{ pageCount: 2 }])
  t.not(small.pid, pid)
})

t.test('closed while it works', async (t) => {
  const { process: small, request } = open(t)
  const work = small.analyze([request('a.cbz')], never)
  await small.close()
  t.same(await work, [])
  t.notOk(small.isFree())
  t.equal(small.pid, null)
})

t.test('a file outside of the library is not read', async (t) => {
  const { process: small, root, request } = open(t)
  const inside = request('a.cbz')
  copyFileSync(inside.path, join(root, 'b.cbz'))
  const [outcome] = await small.analyze([{ ...inside, root: join(root, 'other') }], never)
  t.match(outcome, { file: null, cover: null })
})
