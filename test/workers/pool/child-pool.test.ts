import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { fileAt } from '#test/support/file-at.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { buildPdf, endlessPage, type PdfPage } from '#test/support/pdf-builder.ts'
import { ChildPool, type ChildPoolOptions } from '#workers/pool/child-pool.ts'

// Children draw for seconds here, on machines that may be busy with other tests.
t.setTimeout(240_000)

const folder = t.testdir()
let count = 0

function save(...pages: PdfPage[]): string {
  const path = join(folder, `${count++}.pdf`)
  writeFileSync(path, buildPdf({ pages }))
  return path
}

function open(t: Test, options: Partial<ChildPoolOptions> = {}) {
  const pool = new ChildPool({
    places: { pages: 2, covers: 2 },
    heapMbMax: 256,
    deadlineMs: 60_000,
    ...options,
  })
  t.teardown(() => pool.close())
  const draw = (path: string, index = 0, signal?: AbortSignal) =>
    pool.draw({ ...fileAt(path), index, longestSide: 300, purpose: 'page' }, { signal })
  return { pool, draw }
}

/** State and processor time (clock ticks) of a process; null when it is gone. */
function findProcess(pid: number): { state: string; ticks: number } | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
    return { state: fields[0] ?? '', ticks: Number(fields[11]) + Number(fields[12]) }
  } catch {
    return null
  }
}

/** Whether, within seconds, no child of the pool uses a processor. */
async function awaitQuiet(pool: { pids(): number[] }): Promise<boolean> {
  for (let turn = 0; turn < 60; turn++) {
    const before = new Map(pool.pids().map((pid) => [pid, findProcess(pid)?.ticks ?? 0]))
    // The span in which ticks are counted.
    await sleep(1_000)
    // A drawing child takes 100 ticks a second on a free core, and far more than an idle one on the busiest machine.
    if ([...before].every(([pid, ticks]) => (findProcess(pid)?.ticks ?? ticks) - ticks <= 1)) return true
  }
  return false
}

async function awaitExit(pids: number[]): Promise<boolean> {
  for (let turn = 0; turn < 1_200; turn++) {
    if (pids.every((pid) => [undefined, 'Z'].includes(findProcess(pid)?.state))) return true
    await sleep(50)
  }
  return false
}

t.test('draws in a warm child, which ends when it is idle', async (t) => {
  const { pool, draw } = open(t)
  const path = save({ width: 300, height: 200, text: 'one' }, { width: 200, height: 300, text: 'two' })
  t.same(pool.pids(), [], 'no child starts before the first request')
  t.match(await draw(path), { width: 300, height: 200, incomplete: false })
  const [first] = pool.pids()
  t.match(await draw(path, 1), { width: 200, height: 300 })
  t.ok(pool.pids().includes(first as number), 'the same child')
  t.ok(pool.pids().length <= 2, 'and at most one spare')
  t.match(await draw(path, 2), { problem: { type: 'pdf_rendering', fatal: false } }, 'there is no third page')
  t.match(await draw('/nowhere.pdf'), { problem: { details: { code: 'ENOENT' } } })
  const environment = readFileSync(`/proc/${first}/environ`, 'latin1')
  t.same(environment.split('\0').filter(Boolean), ['MALLOC_ARENA_MAX=2'], 'it does not inherit the environment')
  t.match(readFileSync(`/proc/${first}/cmdline`, 'latin1'), /--disable-sigusr1/)
  t.equal(readFileSync(`/proc/${first}/oom_score_adj`, 'latin1').trim(), '1000')
  t.ok(pool.healthy())

  const idle = open(t, { idleMs: 500 })
  t.match(await idle.draw(path), { width: 300 })
  t.ok(await awaitExit(idle.pool.pids()), 'it ends when it is idle')
  t.ok(idle.pool.healthy())
})

t.test('a process that drew only covers ends soon, one that drew pages stays', onlyFull, async (t) => {
  const { pool, draw } = open(t, { coverIdleMs: 500 })
  const path = save({ width: 300, height: 200, text: 'one' })
  const cover = () => pool.draw({ ...fileAt(path), index: 0, longestSide: 300, purpose: 'cover' })
  t.match(await cover(), { width: 300 })
  t.ok(await awaitExit(pool.pids()), 'a child for covers ends soon')
  t.ok(pool.healthy())

  t.match(await draw(path), { width: 300 })
  const pages = pool.pids()
  t.match(await cover(), { width: 300 }, 'an existing child draws a cover')
  // Longer than a child for covers may be idle.
  await sleep(3_000)
  for (const pid of pages) t.notMatch(findProcess(pid)?.state ?? 'Z', 'Z', 'children for pages, and the spare, stay')
  t.match(await draw(path), { width: 300 })
  t.ok(pool.pids().some((pid) => pages.includes(pid)))
})

t.test('pages have a spare process, covers have none', onlyFull, async (t) => {
  const { pool, draw } = open(t)
  const path = save({ text: 'one' })
  t.match(await pool.draw({ ...fileAt(path), index: 0, longestSide: 300, purpose: 'cover' }), { width: 232 })
  // Longer than a spare takes to start.
  await sleep(2_500)
  t.equal(pool.pids().length, 1)
  const endless = draw(save(endlessPage))
  endless.catch(() => {})
  // As above.
  await sleep(2_500)
  t.equal(pool.pids().length, 2)
})

t.test('an endless page costs its process, and others are drawn meanwhile', onlyFull, async (t) => {
  const deadlineMs = 12_000
  const { pool, draw } = open(t, { deadlineMs, slowMs: 500 })
  const good = save({ text: 'good' })
  await draw(good)
  const hostile = [save(endlessPage, { text: 'its second page' }), save(endlessPage), save(endlessPage)]
  const stuck = hostile.map((path) => draw(path))
  // All places are taken by then.
  await sleep(1_500)
  const other = await draw(good)
  t.match(other, { width: 232 }, `although every place was taken ${'problem' in other ? other.problem.message : ''}`)
  const outcomes = await Promise.all(stuck)
  for (const outcome of outcomes) {
    t.match(outcome, { problem: { type: 'pdf_rendering', fatal: false, details: { page: 1, stopped: 'deadline' } } })
    t.notOk(
      'problem' in outcome && outcome.problem.details?.['died'],
      'a deadline does not count against the file, because a busy machine is slow too',
    )
  }
  t.ok(await awaitQuiet(pool), 'after the deadline no core is busy')
  const started = performance.now()
  t.match(await draw(hostile[0] as string), { problem: { details: { stopped: 'deadline' } } })
  t.ok(performance.now() - started < deadlineMs, 'the same page is refused at once')
  t.match(await draw(hostile[0] as string, 1), { width: 232 }, 'and the next page of the same book is drawn')
  t.ok(pool.healthy(), 'one file does not affect the health of the pool')
})

t.test('a page that takes too much memory costs its process', async (t) => {
  const { draw } = open(t, { residentMbMax: 240, deadlineMs: 100_000 })
  // Some 16 bytes for each pixel: twice the limit, long enough that a busy machine looks in time.
  const [width, height] = [5_500, 5_500]
  const bytes = await sharp({ create: { width, height, channels: 3, background: '#fff' } })
    .jpeg()
    .toBuffer()
  const path = save({ jpeg: { bytes, width, height } })
  let outcome = await draw(path)
  // A machine that pauses this process while the page is drawn looks too late: then the page is drawn again.
  for (let tries = 0; tries < 3 && !('problem' in outcome); tries++) outcome = await draw(path)
  t.match(outcome, { problem: { details: { stopped: 'memory' }, message: /more memory than 240 MB/ } })
})

t.test('a kill from outside does not count', onlyFull, async (t) => {
  const { pool, draw } = open(t)
  const path = save({ content: 'q 1 0 0 1 1 1 cm 0 0 600 700 re 0 0 5 5 re f* Q\n'.repeat(10_000) })
  await draw(save({ text: 'warm' }))
  const outcome = draw(path)
  // The page is being drawn by then.
  await sleep(100)
  for (const pid of pool.pids()) process.kill(pid, 'SIGKILL')
  t.match(await outcome, { width: 232 })
})

t.test('an aborted caller does not wait, and the child survives if possible', async (t) => {
  const { pool, draw } = open(t)
  const slow = save({ content: 'q 1 0 0 1 1 1 cm 0 0 600 700 re 0 0 5 5 re f* Q\n'.repeat(100_000) })
  await draw(save({ text: 'warm' }))
  const abort = new AbortController()
  const given = draw(slow, 0, abort.signal)
  // The page is being drawn by then.
  await sleep(300)
  abort.abort()
  await t.rejects(given, { name: 'AbortError' })
  const stuck = new AbortController()
  const endless = draw(save(endlessPage), 0, stuck.signal)
  // As above.
  await sleep(500)
  stuck.abort()
  await t.rejects(endless, { name: 'AbortError' })
  t.match(await draw(save({ text: 'next' })), { width: 232 })
  t.ok(await awaitQuiet(pool), 'a child that cannot stop is terminated')
})

t.test('the failure of a size that nobody asked for is not remembered against its page', onlyFull, async (t) => {
  const { pool } = open(t, { deadlineMs: 1_500 })
  const path = save(endlessPage)
  const isDrawn = async (isExtra: boolean) => {
    const outcome = await pool.draw({ ...fileAt(path), index: 0, longestSide: 300, purpose: 'page' }, { isExtra })
    t.match(outcome, { problem: { details: { stopped: 'deadline' } } })
    return outcome.drawnMs !== undefined
  }
  t.same([await isDrawn(true), await isDrawn(false), await isDrawn(false)], [true, true, false], 'drawn again, and then refused at once')
})

t.test('close ends all children at once', async (t) => {
  const { pool, draw } = open(t)
  await draw(save({ text: 'warm' }))
  const stuck = draw(save(endlessPage))
  const refused = t.rejects(stuck, { code: 'unavailable' })
  // The page is being drawn by then.
  await sleep(500)
  const pids = pool.pids()
  const started = performance.now()
  await pool.close()
  t.ok(performance.now() - started < 30_000, 'long before their deadline')
  await refused
  t.ok(await awaitExit(pids))
  t.notOk(pool.healthy())
  await t.rejects(draw(save({})), { code: 'unavailable' })
})

t.test('a child ends with its server in every case', async (t) => {
  const path = save(endlessPage)
  const program = join(folder, 'server.ts')
  const source = new URL('../../../workers/pool/child-pool.ts', import.meta.url).href
  writeFileSync(
    program,
    `import { ChildPool } from ${JSON.stringify(fileURLToPath(source))}
    // Slow pages have the lowest priority, at which this one would paint nothing beside busy programs.
    const pool = new ChildPool({ places: { pages: 2, covers: 2 }, heapMbMax: 256, deadlineMs: 120_000, slowMs: 120_000 })
    pool.draw({ root: '/', path: ${JSON.stringify(path)}, index: 0, longestSide: 300, purpose: 'page' })
    setInterval(() => console.log(pool.pids().join()), 200)`,
  )
  const server = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  server.stdout.on('data', (chunk: Buffer) => (told = chunk.toString().trim().split('\n').at(-1) as string))
  const busy = () =>
    told
      .split(',')
      .map(Number)
      .some((pid) => (findProcess(pid)?.ticks ?? 0) > 200)
  for (let turn = 0; turn < 1_000 && !(told && busy()); turn++) await sleep(100)
  const pids = told.split(',').map(Number)
  t.ok(busy(), 'one is painting')
  server.kill('SIGKILL')
  await once(server, 'exit')
  t.ok(await awaitExit(pids), 'and it ends with the server')
})
