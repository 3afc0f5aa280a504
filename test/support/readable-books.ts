import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { PositionLists } from '#core/reading/position-lists.ts'
import { Publications } from '#core/reading/publications.ts'
import { openPageReader } from '#core/reading/read-page.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { addAnalyzedFile } from '#test/support/paged-books.ts'
import { findPool } from '#test/support/pool.ts'
import { openTestServer } from '#test/support/server.ts'

/** A server with real threads, and books from the real analysis. @param options.change what becomes of a publication that the pool has read */
export async function openReadingServer(
  t: Test,
  routes: readonly Route<Services>[],
  options: { inFlight?: { bytesMax: number; perUserMax: number }; log?: Log; change?: (publication: Uint8Array) => Uint8Array } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-reading-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const pool = findPool()
  const counts = { publications: 0, entries: 0 }
  const server = await openTestServer(t, {
    routes,
    settings: { dataFolder: folder },
    ...(options.log && { log: options.log }),
    services: ({ database }) => ({
      publications: new Publications({
        database,
        readPublication: async (...given) => {
          counts.publications++
          const outcome = await pool.readPublication(...given)
          return options.change && 'bytes' in outcome ? { bytes: options.change(outcome.bytes) } : outcome
        },
        openZipEntry: (request) => {
          counts.entries++
          return pool.openZipEntry(request)
        },
        cleanChapter: pool.cleanChapter,
        rightsFreshMs: 0,
        ...(options.inFlight && { inFlight: options.inFlight }),
      }),
    }),
  })
  const { database } = server
  const pageReader = await openPageReader({
    ...{ database, ...pool, rightsFreshMs: 0, cacheFolder: join(folder, 'cache'), cacheBytesMax: 1e7, log: silentLog },
    recordPageProblem: (bookId, problem) => recordPageProblem(database, bookId, problem),
  })
  const positionLists = new PositionLists({ publications: server.services.publications, pageReader })
  Object.assign(server.services, { pageReader, positionLists })
  t.teardown(async () => {
    await positionLists.close()
    await pageReader.close()
    await server.services.publications.close()
  })
  const addFile = async (name: string, bytes: Uint8Array) => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    return { ...(await addRead(database, path)), path }
  }
  return { server, database, folder, counts, addFile }
}

/** Inserts the rows of a file as its analysis would, including the hash by which e-readers identify it. */
export async function addRead(database: Knex, path: string): Promise<{ id: string; readerHash: string; pageCount: number }> {
  const root = path.slice(0, path.lastIndexOf('/'))
  const analysis = await findPool().analyze({ root, path, verifyPages: false })
  const { id } = await addAnalyzedFile(database, path, analysis)
  const readerHash = analysis.file?.readerHash as string
  await database('books').where({ id }).update({ reader_hash: readerHash, analyzed_at: new Date() })
  return { id, readerHash, pageCount: analysis.pageCount }
}

/** Text that compresses badly, so that it has several positions. */
const prose = (seed: number, words: number) =>
  Array.from({ length: words }, (_, index) => ((index + 1) * 2654435761 * seed).toString(36).slice(-9)).join(' ')

/** A novel of three chapters with a picture, a style, a font that the package does not list, a script, and contents in two levels. */
export function buildNovel(): Buffer {
  return buildEpub({
    metadata:
      '<dc:title>A novel</dc:title><dc:creator id="c">Ann Author</dc:creator><dc:language>en</dc:language>' +
      '<meta name="cover" content="cover"/><dc:publisher>A house</dc:publisher>',
    manifest:
      '<item id="c1" href="text/c1.xhtml" media-type="application/xhtml+xml"/>' +
      '<item id="c2" href="text/c%202.xhtml" media-type="application/xhtml+xml" properties="scripted svg"/>' +
      '<item id="c3" href="text/c3.xhtml" media-type="application/xhtml+xml"/>' +
      '<item id="twice" href="text/c3.xhtml" media-type="application/xhtml+xml"/>' +
      '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>' +
      '<item id="css" href="style.css" media-type="text/css"/>' +
      '<item id="odd" href="odd.bin" media-type="text/html&#10;x: y"/>' +
      '<item id="cover" href="Cover.png" media-type="image/png"/>',
    spine: '<itemref idref="c1" properties="page-spread-right"/><itemref idref="c2"/><itemref idref="c3"/><itemref idref="twice"/>',
    files: {
      'c1.xhtml': null,
      'text/c1.xhtml': textPage(prose(3, 1200)),
      'text/c 2.xhtml': textPage(`<script>alert(1)</script>${prose(5, 300)}`),
      'text/c3.xhtml': textPage('The end.'),
      'nav.xhtml':
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>' +
        '<nav epub:type="toc"><ol><li><a href="text/c1.xhtml">One</a></li><li><span>Part</span><ol>' +
        '<li><a href="text/c%202.xhtml#a b">Two</a></li></ol></li><li><span>Nothing</span></li>' +
        '<li><a href="https://example.org/">Elsewhere</a></li></ol></nav>' +
        '<nav epub:type="landmarks"><ol><li><a epub:type="bodymatter" href="text/c1.xhtml">Start</a></li></ol></nav></body></html>',
      'style.css': 'p { color: black }',
      'odd.bin': 'x',
      'font.woff2': Buffer.from('wOF2 not really'),
      'cover.png': Buffer.from('\x89PNG\r\n\x1a\n not really', 'latin1'),
    },
  })
}
