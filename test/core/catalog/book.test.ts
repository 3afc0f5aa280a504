import { createHash } from 'node:crypto'
import t from 'tap'
import { pageIdsOf } from '#core/catalog/book.ts'

t.test('page ids are the same name-based UUIDs as in earlier versions', (t) => {
  const bookId = '0198a9f0-1234-7abc-8def-0123456789ab'
  const idOf = pageIdsOf(bookId)
  for (const number of [100_000, 1, 9, 10, Number.MAX_SAFE_INTEGER]) {
    const name = Buffer.concat([Buffer.from(bookId.replaceAll('-', ''), 'hex'), Buffer.from(String(number))])
    const digest = createHash('sha1').update(name).digest().subarray(0, 16)
    digest[6] = (digest[6]! & 0x0f) | 0x50
    digest[8] = (digest[8]! & 0x3f) | 0x80
    t.equal(idOf(number).replaceAll('-', ''), digest.toString('hex'), `page ${number}`)
  }
  t.equal(idOf(1), '9ad69beb-7837-53a5-bb0e-6d4a1a7d7361', 'and this one is written down')
  t.end()
})
