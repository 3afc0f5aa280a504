import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { writeCover } from '#core/covers/book-cover-files.ts'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { addPagedBook, noisePicture } from '#test/support/paged-books.ts'
import { ADMIN, get } from '#test/support/server.ts'

t.setTimeout(60_000)

t.test('a book whose first page cannot be drawn is shown by its small cover, or a placeholder', async (t) => {
  const { url, database, folder } = await openComposedServer(t)
  const library = join(folder, 'library')
  mkdirSync(library)
  const jpeg = await noisePicture({ width: 500, height: 700 })
  const pages = [
    ['No picture.cbz', Buffer.alloc(1_000, 'x'), 0],
    ['The head of a picture.cbz', jpeg.subarray(0, 20), 0],
    ['Damaged.cbz', jpeg, 1],
  ] as const
  const headers = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  for (const [fileName, bytes, wrong] of pages) {
    const page = { name: '1.jpg', mediaType: 'image/jpeg', width: 2_000, height: 2_800, bytes: bytes.length }
    const zip = { offset: 0, compressedBytes: bytes.length, method: 0 as const, crc32: crc32(bytes) + wrong }
    const book = await addPagedBook(database, {
      ...{ folder: library, fileName, bytes, format: 'cbz', pageSource: 'zip', pages: [{ ...page, zip }] },
    })
    for (const size of ['medium', 'large']) {
      const path = `${url}/opds/books/${book.id}/cover?size=${size}`
      const bare = await get(path, { headers })
      t.match([bare.status, bare.headers['content-type']], [200, 'image/jpeg'], `${fileName}: ${size}`)
      t.ok(bare.bytes.equals(PLACEHOLDER_COVER), `${fileName}: ${size}`)
      t.equal((await get(`${path}&placeholder=false`, { headers })).status, 404, `${fileName}: ${size}`)
    }
    const small = await noisePicture({ width: 40, height: 60 })
    await database('books')
      .where({ id: book.id })
      .update({ cover_hash: await writeCover(folder, book.id, small) })
    const shown = await get(`${url}/opds/books/${book.id}/cover?size=large`, { headers })
    t.ok(shown.bytes.equals(small), `${fileName}: the small one instead`)
    const head = await get(`${url}/opds/books/${book.id}/cover?size=large`, { headers, method: 'HEAD' })
    t.same([head.status, head.headers['content-length']], [200, String(small.length)])
  }
})
