/**
 * Pages of a PDF rendered in a warm child process, compared with the same pages in a warm thread of this process, in turn. `npm run bench:drawing --
 * [--pdf file] [--rounds 40]`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { median } from '#bench/load.ts'
import { jpegOfSize } from '#bench/page-pictures.ts'
import { verdict } from '#bench/verdict.ts'
import { buildPdf, type PdfPage } from '#test/support/pdf-builder.ts'
import type { DrawingRequest } from '#workers/drawing.ts'
import { ChildPool } from '#workers/pool/child-pool.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '40' }, pdf: { type: 'string' } } })
const RATIO_MAX = 1.1
const PAGES = 8

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-drawing-'))

/** Pages of text, and pages that are one scanned picture. */
async function makeBook(): Promise<string> {
  const lines = Array.from({ length: 60 }, (_, line) => `BT /F 10 Tf 40 ${760 - line * 12} Td (${'The quick brown fox. '.repeat(5)}) Tj ET`)
  const pages = await Promise.all(
    Array.from({ length: PAGES }, async (_, index): Promise<PdfPage> => {
      if (index % 2 === 0) return { content: lines.join('\n') }
      return { jpeg: { bytes: await jpegOfSize(300_000, Buffer.from([index])), width: 1200, height: 1600 } }
    }),
  )
  const path = join(folder, 'book.pdf')
  writeFileSync(path, buildPdf({ pages }))
  return path
}

function openThread() {
  const worker = new Worker(
    `import { parentPort } from 'node:worker_threads'
     import { drawPdfPage } from ${JSON.stringify(new URL('../workers/formats/pdf/pdf.ts', import.meta.url).href)}
     parentPort.on('message', async (request) => {
       const { jpeg, width, height } = await drawPdfPage(request)
       const bytes = Uint8Array.from(jpeg)
       parentPort.postMessage({ bytes, width, height }, [bytes.buffer])
     })`,
    { eval: true },
  )
  return {
    draw: (request: DrawingRequest) =>
      new Promise((resolve) => {
        worker.once('message', resolve)
        worker.postMessage(request)
      }),
    close: () => worker.terminate(),
  }
}

const children = new ChildPool({ places: { pages: 2, covers: 1 }, heapMbMax: 512, deadlineMs: 30_000 })
const thread = openThread()
try {
  const path = values.pdf ?? (await makeBook())
  const draws = { thread: thread.draw, child: (request: DrawingRequest) => children.draw(request) }
  const took = { thread: [] as number[], child: [] as number[] }
  const ratios: number[] = []
  for (let round = -PAGES; round < Number(values.rounds); round++) {
    const request = { root: dirname(path), path, index: (round + PAGES) % PAGES, longestSide: 2000, purpose: 'page' } as const
    const ms = { thread: 0, child: 0 }
    for (const name of round % 2 === 0 ? (['thread', 'child'] as const) : (['child', 'thread'] as const)) {
      const started = performance.now()
      await draws[name](request)
      ms[name] = performance.now() - started
    }
    // The first pages warm up each of them.
    if (round < 0) continue
    took.thread.push(ms.thread)
    took.child.push(ms.child)
    ratios.push(ms.child / ms.thread)
  }
  console.table({ thread: { 'ms/page': median(took.thread).toFixed(1) }, child: { 'ms/page': median(took.child).toFixed(1) } })
  const ratio = median(ratios)
  verdict('ratio to a thread', ratio, { atMost: RATIO_MAX })
} finally {
  await thread.close()
  await children.close()
  rmSync(folder, { recursive: true, force: true })
}
