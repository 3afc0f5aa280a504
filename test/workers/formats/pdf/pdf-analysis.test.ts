import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fileAt } from '#test/support/file-at.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { buildPdf, endlessPage } from '#test/support/pdf-builder.ts'
import type { DrawingOutcome, DrawPdfPage } from '#workers/drawing.ts'
import { analyzePdf } from '#workers/formats/pdf/pdf-analysis.ts'
import { ChildPool, type ChildPoolOptions } from '#workers/pool/child-pool.ts'

// Processes start and draw for seconds here, on machines that may be busy with other tests.
t.setTimeout(240_000)

const folder = t.testdir()
let count = 0

function save(bytes: Buffer): string {
  const path = join(folder, `${count++}.pdf`)
  writeFileSync(path, bytes)
  return path
}

/** Draws in real processes; keeps what they answered. */
function open(t: Test, options: Partial<ChildPoolOptions> = {}) {
  const pool = new ChildPool({ places: { pages: 2, covers: 2 }, heapMbMax: 256, deadlineMs: 60_000, ...options })
  t.teardown(() => pool.close())
  const outcomes: DrawingOutcome[] = []
  const draw: DrawPdfPage = async (request) => {
    const outcome = await pool.draw(request)
    outcomes.push(outcome)
    return outcome
  }
  return { pool, draw, outcomes }
}

t.test('another process describes a PDF and draws its cover, as this thread would', async (t) => {
  const { draw, outcomes } = open(t)
  const good = buildPdf({ pages: [{ width: 600, height: 300, text: 'one' }, { text: 'two' }], title: 'T' })
  const files: Record<string, Buffer> = {
    sound: good,
    'a page count that lies': buildPdf({ pages: [{}, {}], count: 213_804_087 }),
    'no pages': buildPdf({ pages: [] }),
    locked: buildPdf({ pages: [{}], encrypt: { userPassword: 'foo', ownerPassword: 'boss' } }),
    noise: Buffer.alloc(5_000, 'x'),
    incomplete: good.subarray(0, Math.floor(good.length / 2)),
  }
  for (const [name, bytes] of Object.entries(files)) {
    const file = fileAt(save(bytes))
    const book = await analyzePdf(file, draw)
    t.same(book, await analyzePdf(file), name)
    t.ok(outcomes.at(-1)?.description, `${name}: it was described there`)
  }
})

t.test('a process that is lost while it draws has described the document', onlyFull, async (t) => {
  const { draw, outcomes } = open(t, { coverDeadlineMs: 4_000 })
  await analyzePdf(fileAt(save(buildPdf({ pages: [{}] }))), draw)
  const file = fileAt(save(buildPdf({ pages: [endlessPage, { width: 600, height: 300 }], title: 'Endless' })))
  const book = await analyzePdf(file, draw)
  t.match(outcomes.at(-1), { problem: { details: { stopped: 'deadline' } } })
  t.ok(outcomes.at(-1)?.description)
  t.match(book, { pageCount: 2, embedded: { title: 'Endless' }, cover: null })
  t.same([book.pages[1]?.width, book.pages[1]?.height], [1250, 625])
  t.match(book.problems, [{ type: 'pdf_rendering', fatal: false }])

  const again = await analyzePdf(file, draw)
  t.notOk(outcomes.at(-1)?.description, 'a page that is refused at once starts nothing')
  t.same(again, book, 'and the document is described here')
})

t.test('a process that is killed from outside does not count, and another one describes the document', onlyFull, async (t) => {
  const { pool, draw, outcomes } = open(t)
  await analyzePdf(fileAt(save(buildPdf({ pages: [{}] }))), draw)
  const slow = { content: 'q 1 0 0 1 1 1 cm 0 0 600 700 re 0 0 5 5 re f* Q\n'.repeat(10_000) }
  const analyzed = analyzePdf(fileAt(save(buildPdf({ pages: [slow], title: 'Slow' }))), draw)
  // The page is being drawn by then.
  await new Promise((resolve) => setTimeout(resolve, 150))
  for (const pid of pool.pids()) process.kill(pid, 'SIGKILL')
  const book = await analyzed
  t.match(book, { pageCount: 1, embedded: { title: 'Slow' }, problems: [] })
  t.ok(book.cover)
  t.ok(outcomes.at(-1)?.description)
})

t.test('a bad description of another process is not believed', async (t) => {
  const { pool } = open(t)
  const file = fileAt(save(buildPdf({ pages: [{ text: 'one' }], title: 'T' })))
  const expected = await analyzePdf(file)
  for (const description of ['{}', 'no JSON', '{"problem":{"type":"parser"}}']) {
    const draw: DrawPdfPage = async (request) => ({ ...(await pool.draw(request)), description: new TextEncoder().encode(description) })
    t.same(await analyzePdf(file, draw), expected, description)
  }
})

t.test('a page for a user is drawn without a description', async (t) => {
  const { draw, outcomes } = open(t)
  await draw({ ...fileAt(save(buildPdf({ pages: [{}] }))), index: 0, longestSide: 100, purpose: 'page' })
  t.match(outcomes, [{ height: 100 }])
  t.notOk(outcomes[0]?.description)
})
