import { readdirSync, readlinkSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import type { LibraryFile, PageOutcome } from '#core/fields/analysis.ts'
import { processCpuMs } from '#test/support/cpu-time.ts'
import { fileAt } from '#test/support/file-at.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { buildPdf, type PdfPage } from '#test/support/pdf-builder.ts'
import { BookProblem } from '#workers/book-problem.ts'
import { drawPdfPage } from '#workers/formats/pdf/pdf.ts'
import { analyzePdf } from '#workers/formats/pdf/pdf-analysis.ts'
import { closePdfs, openPdf, withPdf } from '#workers/formats/pdf/pdf-document.ts'
import { renderPage } from '#workers/formats/pdf/pdf-render.ts'

// Hundreds of damaged files are read here.
t.setTimeout(240_000)

const folder = t.testdir()
let count = 0

function save(bytes: Buffer): string {
  const path = join(folder, `${count++}.pdf`)
  writeFileSync(path, bytes)
  return path
}

/** The number of descriptors of this process in this test's folder. */
function openFiles(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  }).length
}

async function sizeOf(outcome: PageOutcome): Promise<[number | undefined, number | undefined]> {
  if ('problem' in outcome) throw new Error(outcome.problem.message)
  const { width, height, format } = await sharp(outcome.bytes).metadata()
  if (format !== 'jpeg' || outcome.mediaType !== 'image/jpeg') throw new Error(`${format} said to be ${outcome.mediaType}`)
  return [width, height]
}

async function middleOf(jpeg: Uint8Array): Promise<number[]> {
  const { data, info } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true })
  const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width / 2)) * info.channels
  return [...data.subarray(at, at + 3)]
}

/** As the pool returns it. */
async function renderPdfPage(request: LibraryFile & { index: number; longestSide: number }): Promise<PageOutcome> {
  const outcome = await drawPdfPage({ ...request, purpose: 'page' })
  return 'problem' in outcome ? outcome : { bytes: outcome.jpeg, mediaType: 'image/jpeg' }
}

const refusal = (outcome: PageOutcome) => ('problem' in outcome ? [outcome.problem.type, outcome.problem.fatal] : 'a page')

t.afterEach(async () => {
  await closePdfs()
  if (openFiles() > 0) throw new Error(`${openFiles()} files are still open`)
})

t.test('pages, their sizes at 150 dpi, title and cover', async (t) => {
  const pages: PdfPage[] = [
    { width: 600, height: 300, text: 'one' },
    { width: 600, height: 300, rotate: 90 },
    { width: 600, height: 300, rotate: -180 },
    { width: 600, height: 300, cropBox: [100, 50, 400, 250] },
    { width: 72, height: 144, userUnit: 10 },
    { width: 595.276, height: 841.89 },
  ]
  const book = await analyzePdf(fileAt(save(buildPdf({ pages, title: ' \u0000A  “title”\u0000\u0000 🥚 ' }))))
  t.equal(book.pageCount, 6)
  t.equal(book.pageSource, 'pdf')
  t.same(
    book.pages.map((page) => [page.width, page.height]),
    [
      [1250, 625],
      [625, 1250],
      [1250, 625],
      [625, 417],
      [150, 300],
      [1240, 1754],
    ],
  )
  t.same(book.pages[1], { name: 'page 2', mediaType: 'image/jpeg', width: 625, height: 1250, bytes: 0 })
  t.equal(book.embedded.title, 'A “title” 🥚')
  t.same([book.cover?.width, book.cover?.height], [400, 200])
  t.same(await sizeOf({ bytes: book.cover?.jpeg ?? new Uint8Array(), mediaType: 'image/jpeg' }), [400, 200])
  t.same(book.problems, [])
  t.same((await analyzePdf(fileAt(save(buildPdf({ pages: [{}], title: '  ' }))))).embedded, {}, 'a blank title does not count')
  t.same((await analyzePdf(fileAt(save(buildPdf({ pages: [{}] }))))).embedded, {}, 'nor does a missing one')
})

t.test('pages are drawn at the requested size', async (t) => {
  const red = await sharp({ create: { width: 300, height: 400, channels: 3, background: '#f00' } })
    .jpeg()
    .toBuffer()
  const path = save(
    buildPdf({
      pages: [
        { width: 300, height: 400, jpeg: { bytes: red, width: 300, height: 400 } },
        { width: 400, height: 200, rotate: 270, text: 'turned' },
        { width: 3, height: 3, text: '' },
      ],
    }),
  )
  const first = await renderPdfPage({ ...fileAt(path), index: 0, longestSide: 1000 })
  t.same(await sizeOf(first), [750, 1000])
  const [r = 0, g = 0, b = 0] = 'bytes' in first ? await middleOf(first.bytes) : []
  t.ok(r > 240 && g < 20 && b < 20, `the picture is on it: ${r} ${g} ${b}`)
  const second = await renderPdfPage({ ...fileAt(path), index: 1, longestSide: 300 })
  t.same(await sizeOf(second), [150, 300])
  const ink = 'bytes' in second ? (await sharp(second.bytes).stats()).channels[0]?.min : 255
  t.ok((ink ?? 255) < 100, 'there is text on white')
  t.same(
    await sizeOf(await renderPdfPage({ ...fileAt(path), index: 2, longestSide: 400 })),
    [400, 400],
    'tiny pages are enlarged: they are drawings',
  )
  t.same(await sizeOf(await renderPdfPage({ ...fileAt(path), index: 2, longestSide: 50_000 })), [5000, 5000], 'but only up to a limit')
  t.same(refusal(await renderPdfPage({ ...fileAt(path), index: 3, longestSide: 400 })), ['pdf_rendering', false], 'there is no fourth page')
})

t.test('a document is opened once for many pages, and reopened when the file changes', async (t) => {
  const path = save(buildPdf({ pages: [{ width: 100, height: 200 }, {}] }))
  await renderPdfPage({ ...fileAt(path), index: 0, longestSide: 100 })
  t.equal(openFiles(), 1, 'the document stays open')
  const both = await Promise.all([0, 1].map((index) => renderPdfPage({ ...fileAt(path), index, longestSide: 100 })))
  t.ok(
    both.every((outcome) => 'bytes' in outcome),
    'two pages at once',
  )
  t.equal(openFiles(), 1)
  const file = { ...fileAt(path), bytes: 1, mtimeNs: 1n }
  const documents = await Promise.all([withPdf(file, async (document) => document), withPdf(file, async (document) => document)])
  t.equal(documents[0], documents[1])

  writeFileSync(path, buildPdf({ pages: [{ width: 200, height: 100 }] }))
  utimesSync(path, 1, 1)
  t.same(await sizeOf(await renderPdfPage({ ...fileAt(path), index: 0, longestSide: 100 })), [100, 50])

  const others = Array.from({ length: 6 }, () => save(buildPdf({ pages: [{}] })))
  await Promise.all(others.map((other) => renderPdfPage({ ...fileAt(other), index: 0, longestSide: 50 })))
  for (let waited = 0; openFiles() > 4 && waited < 600; waited++) await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(openFiles(), 4, 'the least used are closed')
})

t.test('encryption: an owner password does not matter, a user password does', async (t) => {
  const pages: PdfPage[] = [{ text: 'secret' }]
  const open = save(buildPdf({ pages, title: 'Readable', encrypt: { userPassword: '', ownerPassword: 'boss' } }))
  const readable = await analyzePdf(fileAt(open))
  t.equal(readable.embedded.title, 'Readable')
  t.same(readable.problems, [])
  t.ok(((await sharp(readable.cover?.jpeg).stats()).channels[0]?.min ?? 255) < 100, 'its text is drawn, so the file was decrypted')

  const locked = save(buildPdf({ pages, encrypt: { userPassword: 'foo', ownerPassword: 'boss' } }))
  const book = await analyzePdf(fileAt(locked))
  t.same(
    book.problems.map((problem) => [problem.type, problem.fatal]),
    [['parser', true]],
  )
  t.match(book.problems[0]?.message, /needs a password/)
  t.same([book.pageCount, book.pages, book.cover], [0, [], null])
  t.same(refusal(await renderPdfPage({ ...fileAt(locked), index: 0, longestSide: 100 })), ['parser', false])
  t.equal(openFiles(), 0, 'a document that failed to open is not cached')
})

t.test('broken files have a problem, never an exception', async (t) => {
  const good = buildPdf({ pages: [{ text: 'a' }, { text: 'b' }], title: 'T' })
  const latin = good.toString('latin1')
  const cases: [name: string, bytes: Buffer, problems: [string, boolean][], pageCount: number][] = [
    ['no pages', buildPdf({ pages: [] }), [['zero_pages', true]], 0],
    ['empty', Buffer.alloc(0), [['parser', true]], 0],
    ['a header alone', Buffer.from('%PDF-1.7\n%%EOF'), [['parser', true]], 0],
    ['noise', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 31 + (index >> 3)) & 0xff)), [['parser', true]], 0],
    ['a page count that lies', buildPdf({ pages: [{}, {}], count: 213_804_087 }), [['parser', false]], 2],
    ['a negative page count', buildPdf({ pages: [{}], count: -5 }), [['parser', true]], 0],
    [
      'a page tree that leads nowhere',
      Buffer.from(
        latin.replace(/\/Kids \[[^\]]*\]/, (kids) => kids.replace(/\d/g, '9')),
        'latin1',
      ),
      [['parser', true]],
      0,
    ],
  ]
  for (const [name, bytes, problems, pageCount] of cases) {
    const book = await analyzePdf(fileAt(save(bytes)))
    t.same(
      book.problems.map((problem) => [problem.type, problem.fatal]),
      problems,
      `${name}: ${JSON.stringify(book.problems)}`,
    )
    t.equal(book.pageCount, pageCount, name)
    t.equal(book.pages.length, pageCount, name)
  }

  for (const part of [0.25, 0.5, 0.75, 0.99]) {
    const book = await analyzePdf(fileAt(save(good.subarray(0, Math.floor(good.length * part)))))
    t.ok(book.pageCount === 2 || book.problems[0]?.fatal, `cut at ${part}: ${book.pageCount} pages, ${book.problems[0]?.message}`)
  }
  const shifted = await analyzePdf(fileAt(save(Buffer.concat([Buffer.from('junk before the header\n'), good]))))
  t.equal(shifted.pageCount, 2, 'a prefix is forgiven')
  t.equal(shifted.embedded.title, 'T')
})

t.test('a file that points behind its own end is read all the same', async (t) => {
  const text = buildPdf({ pages: [{ text: 'One' }, { text: 'Two' }] }).toString('latin1')
  const entries = [...text.matchAll(/^\d{10} 00000 n/gm)].map(({ index }) => index)
  for (const [number, at] of entries.entries()) {
    // Some 90 KB on: the next chunk after the only one of a file that is read by ranges.
    const path = save(Buffer.from(`${text.slice(0, at + 5)}9${text.slice(at + 6)}`, 'latin1'))
    const { pageCount, problems } = await analyzePdf(fileAt(path))
    t.ok(pageCount === 2 || problems.length > 0, `entry ${number}`)
  }
})

t.test('no damaged byte crashes it', async (t) => {
  const good = buildPdf({ pages: [{ text: 'a' }, { text: 'b' }], title: 'T' })
  let opened = 0
  for (let at = 0; at < good.length; at += 7) {
    const bytes = Buffer.from(good)
    bytes[at] = (bytes[at] ?? 0) ^ 0x15
    const book = await analyzePdf(fileAt(save(bytes)))
    if (book.pageCount > 0) opened++
    t.ok(book.pageCount > 0 || book.problems[0]?.fatal, `byte ${at}`)
  }
  t.ok(opened > 100, `${opened} opened all the same`)
})

t.test('pages that need too much', async (t) => {
  const path = save(
    buildPdf({
      pages: [
        { width: 1_000_000, height: 1_000_000, text: 'big' },
        { width: 1_000_000, height: 1, text: 'thin' },
        { width: 0, height: 0 },
        { content: 'q '.repeat(1000) },
        { jpeg: { bytes: Buffer.from('no jpeg'), width: 30_000, height: 30_000 } },
      ],
    }),
  )
  const book = await analyzePdf(fileAt(path))
  t.equal(book.pageCount, 5)
  t.same([book.pages[0]?.width, book.pages[1]?.height], [2_083_333, 2])
  t.same([book.cover?.width, book.cover?.height], [400, 400])
  t.same(await sizeOf(await renderPdfPage({ ...fileAt(path), index: 1, longestSide: 400 })), [400, 1])
  for (const index of [2, 3, 4]) {
    const outcome = await renderPdfPage({ ...fileAt(path), index, longestSide: 400 })
    t.ok('bytes' in outcome || outcome.problem.type === 'pdf_rendering', `page ${index + 1}`)
  }

  const poster = await analyzePdf(fileAt(save(buildPdf({ pages: [{ jpeg: { bytes: Buffer.from('x'), width: 30_000, height: 30_000 } }] }))))
  t.same(
    poster.problems.map((problem) => [problem.type, problem.fatal]),
    [['pdf_rendering', false]],
    'a missing picture is reported',
  )
})

t.test('endless work is stopped, and timers of the thread fire meanwhile', async (t) => {
  // Unbalanced saves take the parser quadratic time, fills cost the painter.
  const contents = { parsing: 'q '.repeat(100_000), painting: 'q 1 0 0 1 1 1 cm 0 0 600 700 re 0 0 5 5 re f* Q\n'.repeat(100_000) }
  for (const [name, content] of Object.entries(contents)) {
    const handle = await openPdf(fileAt(save(buildPdf({ pages: [{ content }, { text: 'quick' }] }))))
    let ticks = 0
    const timer = setInterval(() => ticks++, 5)
    await t.rejects(renderPage(handle.document, 0, 400, { deadlineMs: 300 }), { message: /too long/ }, name)
    clearInterval(timer)
    t.ok(ticks > 0, `${name}: ${ticks} ticks`)
    t.same((await renderPage(handle.document, 1, 400)).height, 400, 'other pages can still be drawn')
    await handle.close()
  }
})

t.test('a file that shrinks while it is open fails without hanging', async (t) => {
  const noise = await sharp({
    create: { width: 700, height: 700, channels: 3, background: '#888', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })
    .jpeg({ quality: 95 })
    .toBuffer()
  const page: PdfPage = { jpeg: { bytes: noise, width: 700, height: 700 } }
  const path = save(buildPdf({ pages: [page, page, page, page] }))
  await withPdf({ ...fileAt(path), bytes: 2, mtimeNs: 2n }, async (document) => {
    truncateSync(path, 2000)
    const outcome = await renderPage(document, 2, 100).catch((error: Error) => error)
    t.ok('jpeg' in outcome || outcome instanceof BookProblem, 'it ends, at least with a blank page')
  })
  await closePdfs()
  rmSync(path)
  await t.rejects(analyzePdf(fileAt(path)), { code: 'ENOENT' }, 'a missing file is an error for the caller, not a problem of the book')
  t.same(refusal(await renderPdfPage({ ...fileAt(path), index: 0, longestSide: 100 })), ['other', true])
})

t.test('a PDF of thousands of pages is analyzed soon', onlyCost, async (t) => {
  const path = save(buildPdf({ pages: Array.from({ length: 5200 }, (_, index) => ({ width: 100 + (index % 50), text: `${index}` })) }))
  const started = processCpuMs()
  const book = await analyzePdf(fileAt(path))
  const took = processCpuMs() - started
  t.equal(book.pageCount, 5200)
  t.equal(book.pages.length, 5200)
  t.equal(book.pages[4]?.width, Math.round((104 * 150) / 72))
  t.same(book.pages[5100], { name: 'page 5101', mediaType: 'image/jpeg', width: null, height: null, bytes: 0 }, 'beyond the limit no sizes')
  t.same(book.problems, [])
  t.ok(took < 15_000, `${took.toFixed(0)} ms`)
})
