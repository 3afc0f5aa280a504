import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildEpub } from '#test/support/epub-builder.ts'
import { someOf } from '#test/support/lane-size.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { numberedPages, pngHeader } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

interface Entry {
  book: { filePath: string; analyzed: boolean }
  errors: { errorType: string; message: string; details?: unknown }[]
}

/** Files that no server may fall over, each with the error types that may stand for it; an empty list means a good book. */
async function hostileFiles(): Promise<[name: string, bytes: Uint8Array, types: string[]][]> {
  const pages = await numberedPages(3)
  const good = buildZip(pages)
  const pdf = buildPdf({ pages: [{ text: 'one' }, { text: 'two' }] })
  const epub = buildEpub()
  const cut = (bytes: Uint8Array, quarter: number) => bytes.subarray(0, Math.floor((bytes.length * quarter) / 4))
  const damaged = pages.map((page, index) => (index === 0 ? { ...page, crc32: 1 } : page))
  const files: [string, Uint8Array, string[]][] = [
    ['good.cbz', good, []],
    ['good.cbr', buildRar(pages), []],
    ['good.epub', epub, []],
    ['good.pdf', pdf, []],
    ['really a zip.cbr', good, []],
    ['really a rar.cbz', buildRar(pages), []],
    ['line\nbreak and 🐉.cbz', good, []],
    ['empty.cbz', new Uint8Array(0), ['format_detection']],
    ['text.cbr', Buffer.from('not a book'), ['format_detection']],
    ['no directory.cbz', good.subarray(0, good.length - 40), ['parser']],
    ['bad checksum.cbz', buildZip(damaged), ['page_extraction', 'thumbnail']],
    ['encrypted.cbz', buildZip(pages.map((page) => ({ ...page, encrypted: true }))), ['page_extraction']],
    ['encrypted.cbr', buildRar(pages.map((page) => ({ ...page, encrypted: true }))), ['page_extraction', 'parser']],
    ['no pictures.cbz', buildZip([{ name: 'readme.txt', data: Buffer.from('x') }]), ['zero_pages']],
    ['not a picture.cbz', buildZip([{ name: '1.jpg', data: Buffer.from('<html>') }]), ['page_extraction']],
    ['huge picture.cbz', buildZip([{ name: '1.png', data: pngHeader(30_000, 30_000) }]), ['thumbnail', 'page_extraction']],
    ['no container.epub', buildEpub({ files: { '/META-INF/container.xml': null } }), ['parser', 'metadata', 'zero_pages']],
    [
      'entities.epub',
      buildEpub({ prolog: '<!DOCTYPE package [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>', metadata: '<dc:title>&b;</dc:title>' }),
      ['metadata'],
    ],
    [
      'locked.pdf',
      buildPdf({ pages: [{ text: 'secret' }], encrypt: { userPassword: 'u', ownerPassword: 'o' } }),
      ['parser', 'pdf_rendering'],
    ],
  ]
  for (const quarter of [1, 2, 3]) {
    files.push([`cut at ${quarter} of 4.cbz`, cut(good, quarter), ['parser']])
    files.push([`cut at ${quarter} of 4.epub`, cut(epub, quarter), ['parser']])
    files.push([`cut at ${quarter} of 4.pdf`, cut(pdf, quarter), ['parser', 'pdf_rendering', 'zero_pages']])
  }
  return files
}

t.setTimeout(240_000)
t.test('a library full of bad files', { timeout: 240_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-bad-'))
  const library = join(folder, 'library')
  mkdirSync(join(library, 'Series', 'deep'), { recursive: true })
  symlinkSync(library, join(library, 'Series', 'loop'))
  const files = someOf('bad files', await hostileFiles(), 19)
  for (const [name, bytes] of files) writeFileSync(join(library, 'Series', name), bytes)
  const locked = join(library, 'Series', 'unreadable.cbz')
  writeFileSync(locked, 'secret')
  chmodSync(locked, 0)

  const server = await startServer({ dataFolder: join(folder, 'data'), args: ['--library', library] })
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  let watching = true
  const slow: number[] = []
  const answers = (async () => {
    while (watching) {
      const startedAt = performance.now()
      const answer = await fetch(`${server.url}/health`)
      await answer.arrayBuffer()
      if (answer.status !== 200 || performance.now() - startedAt > 5_000) slow.push(performance.now() - startedAt)
      await sleep(50)
    }
  })()

  const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
  const libraryId = data[0]?.id as string
  const scan = await awaitScan(server, libraryId, { analyzed: true, timeoutMs: 120_000 })
  watching = false
  await answers
  t.equal(scan.status, 'completed')
  t.same(slow, [], 'the server answered all the while')

  const books = await server.get<{ data: { id: string; filePath: string; analyzed: boolean }[] }>('/api/v1/books?pageSize=500')
  const byPath = new Map(books.data.map((book) => [book.filePath, book]))
  const errors = new Map<string, Entry>()
  const { groups } = await server.get<{ groups: { books: Entry[] }[] }>('/api/v1/books/errors?pageSize=500')
  for (const group of groups) for (const entry of group.books) errors.set(entry.book.filePath, entry)

  for (const [name, , types] of files) {
    const path = join(library, 'Series', name)
    const found = errors.get(path)?.errors ?? []
    if (types.length === 0) {
      t.ok(byPath.get(path)?.analyzed, `${JSON.stringify(name)} is readable`)
      t.same(found, [], `${JSON.stringify(name)} has no error`)
      const page = await fetch(`${server.url}/api/v1/books/${byPath.get(path)?.id}/file`, { headers: server.headers })
      t.equal(page.status, 200, `${JSON.stringify(name)} is served`)
      await page.arrayBuffer()
    } else {
      t.ok(
        found.length > 0 && found.every((error) => types.includes(error.errorType)),
        `${name}: ${found.map((error) => `${error.errorType}: ${error.message}`)}`,
      )
      t.ok(
        found.every((error) => error.message.length > 15 && !/undefined|\bat .*:\d+/.test(error.message)),
        `${name}: the message is for people`,
      )
    }
  }
  t.equal(books.data.length, files.length + 1, 'every file is listed once; the loop of links adds none')

  rmSync(library, { recursive: true })
  for (const state of ['gone', 'empty'] as const) {
    if (state === 'empty') mkdirSync(library)
    const { startedAt } = await server.post<{ startedAt: string }>(`/api/v1/libraries/${libraryId}/scan`)
    const guarded = await awaitScan(server, libraryId, { analyzed: false, timeoutMs: 60_000, since: startedAt })
    t.equal(guarded.status, 'failed', `a root that is ${state} fails the scan`)
    t.match(guarded.errors.join(' '), library, 'and says which')
    const after = await server.get<{ total: number }>('/api/v1/books')
    t.equal(after.total, books.data.length, 'no book is lost')
  }
})
