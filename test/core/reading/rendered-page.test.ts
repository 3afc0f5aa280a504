import sharp from 'sharp'
import t, { type Test } from 'tap'
import type { PageOutcome, RenderPdfPage } from '#core/fields/analysis.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openPageCache } from '#core/reading/page-cache.ts'
import { largerSides, PAGE_WIDTHS } from '#core/reading/page-variant.ts'
import { RenderedPages } from '#core/reading/rendered-page.ts'
import { fileAt } from '#test/support/file-at.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openReading, readPage } from '#test/support/page-reading.ts'
import { addPagedBook } from '#test/support/paged-books.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { findPool } from '#test/support/pool.ts'

t.setTimeout(240_000)

const { signal } = new AbortController()

/** A page with a picture of this width and height, which takes the same time in every size. */
async function heavyPdf(side: number): Promise<Buffer> {
  const bytes = await sharp({ create: { width: side, height: side, channels: 3, background: '#a04060' } })
    .jpeg()
    .toBuffer()
  return buildPdf({ pages: [{ width: 900, height: 1350, jpeg: { bytes, width: side, height: side } }] })
}

t.test('a page that takes long is drawn twice, in whatever order its sizes are requested', onlyFull, async (t) => {
  const reading = await openReading(t)
  const { database, folder, caller, counts } = reading
  const bytes = await heavyPdf(5_000)
  const orders = [[...PAGE_WIDTHS], [960, undefined, 320, 2000, 480]]
  for (const [index, widths] of orders.entries()) {
    const page = { name: 'page 1', mediaType: 'image/jpeg', width: 1875, height: 2812, bytes: 0 }
    const made = { folder, fileName: `heavy ${index}.pdf`, bytes: Buffer.concat([bytes, Buffer.from(`%${index}\n`)]) }
    const book = await addPagedBook(database, { ...made, format: 'pdf', pageSource: 'pdf', pages: [page] })
    counts.rendered = 0
    const read = (width?: number) => readPage(reading.reader, { caller, bookId: book.id, pageNumber: 1, width, signal })
    const pictures = index === 0 ? await Promise.all(widths.map(read)) : []
    for (const width of index === 0 ? [] : widths) pictures.push(await read(width))
    t.ok(counts.rendered <= 2, `${counts.rendered} drawings of ${widths.length} sizes`)
    for (const [at, width] of widths.entries()) {
      const { width: across = 0, height = 0, format } = await sharp(pictures[at]?.bytes).metadata()
      t.equal(format, 'jpeg')
      t.ok(Math.abs(across - (width ?? 1_333)) <= 1 && Math.abs(height - (width ?? 1_333) * 1.5) <= 2, `${width}: ${across} × ${height}`)
    }
  }
})

/** The pages of one PDF, with a cache of its own; `change` sees what the real pool answers. */
async function openPages(t: Test, change: (outcome: PageOutcome, isExtra: boolean) => PageOutcome & { drawnMs?: number }, bytesMax = 1e8) {
  const pool = findPool()
  const root = t.testdir({ 'book.pdf': buildPdf({ pages: [{ width: 600, height: 900, text: 'One' }, { text: 'Two' }] }) })
  const cache = await openPageCache({ folder: `${root}/cache`, bytesMax, log: silentLog })
  t.teardown(() => cache.close())
  const drawn: string[] = []
  const renderPdfPage: RenderPdfPage = async (request, options) => {
    drawn.push(`${request.index} ${request.longestSide}`)
    const { drawnMs: _, ...outcome } = await pool.renderPdfPage(request, options)
    return change(outcome, options?.isExtra === true)
  }
  const pages = new RenderedPages({ cache, renderPdfPage, resizeImage: pool.resizeImage })
  const file = fileAt(`${root}/book.pdf`)
  const ask = async (longestSide: number, index = 0) => {
    const larger = [4000, 3000, 2000, 1000, 500].filter((side) => side > longestSide)
    const outcome = await cache.picture({ hash: 'ab', name: `${index}-render1-${longestSide}` }, signal, (running) =>
      pages.make({ file, hash: 'ab', index, longestSide, larger }, running),
    )
    if ('problem' in outcome) return outcome.problem.type
    const { width = 0, height = 0 } = await sharp(outcome.bytes).metadata()
    return Math.max(width, height)
  }
  return { ask, drawn }
}
const slowly = (outcome: PageOutcome) => ({ ...outcome, drawnMs: 5_000 })

t.test('which pages get a large picture', async (t) => {
  const slow = await openPages(t, slowly)
  t.same(await Promise.all([500, 1000, 2000].map((side) => slow.ask(side))), [500, 1000, 2000])
  t.same(await Promise.all([3000, 4000].map((side) => slow.ask(side))), [3000, 4000])
  t.same(slow.drawn, ['0 500', '0 4000'], 'also when sizes are requested at once')
  t.same([await slow.ask(500, 1), await slow.ask(1000, 1)], [500, 1000])
  t.same(slow.drawn.slice(2), ['1 500', '1 4000'], 'each page for itself')

  const quick = await openPages(t, (outcome) => ({ ...outcome, drawnMs: 100 }))
  t.same([await quick.ask(500), await quick.ask(2000), await quick.ask(1000)], [500, 2000, 1000])
  t.same(quick.drawn, ['0 500', '0 2000'], 'ordinary ones are drawn at the size that was asked for, unless a larger picture exists')

  const failing = await openPages(t, (outcome, isExtra) =>
    isExtra ? { problem: { type: 'pdf_rendering', message: 'too slow', fatal: false } } : slowly(outcome),
  )
  t.same([await failing.ask(500), await failing.ask(1000), await failing.ask(2000)], [500, 1000, 2000])
  t.same(failing.drawn, ['0 500', '0 4000', '0 1000', '0 2000'], 'a largest size that cannot be drawn is tried once, and fails nothing')

  const off = await openPages(t, slowly, 1)
  t.same([await off.ask(500), await off.ask(1000), await off.ask(2000)], [500, 1000, 2000])
  t.same(off.drawn, ['0 500', '0 4000', '0 2000'], 'without a cache the largest size is drawn once')
})

t.test('the larger sizes of a page', async (t) => {
  t.same(largerSides({ width: 900, height: 1350 }, 1_440), [3000, 2400, 2000, 1920])
  t.same(largerSides({ width: 1350, height: 900 }, 320), [2000, 1600, 1280, 960, 640, 480])
  t.same(largerSides({ width: null, height: null }, 2000), [])
  t.same(largerSides({ width: 10, height: 9000 }, 4000), [])
})
