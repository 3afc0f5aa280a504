import { test } from 'tap'
import { openShelves } from '#test/support/shelves.ts'
import { readReadingList } from '#workers/metadata/reading-list.ts'

test('a CBL file becomes a read list', async (t) => {
  const { upload, one, two, other, ask } = await openShelves(t)
  const cbl = (books: string, name = 'Event') =>
    `\ufeff<?xml version="1.0"?><ReadingList><Name>${name}</Name><Books>${books}</Books></ReadingList>`
  const book = (series: string, number: string) => `<Book Series="${series}" Number="${number}" Volume="2011" Year="2012"><Id>x</Id></Book>`
  const text = cbl(book('batman', '2') + book('SAGA', '1') + book('Batman', '1') + book('Nobody &amp; Co', '1A'))
  const { status, json } = await upload('/api/v1/read-lists/import', text, 'event.cbl')
  t.match(
    { status, json },
    { status: 201, json: { matched: 3, unmatched: [{ series: 'Nobody & Co', number: '1A' }], readList: { name: 'Event', bookCount: 3 } } },
  )
  const { id } = json['readList'] as { id: string }
  const found = await ask<{ data: { id: string }[] }>('GET', `/api/v1/read-lists/${id}/books`)
  t.same(
    found.json.data.map((entry) => entry.id),
    [two, other, one],
  )
  t.equal((await upload('/api/v1/read-lists/import', text)).status, 409, 'the name is taken')
  t.equal((await upload('/api/v1/read-lists/import', cbl(book('Nobody', '1'), 'None'))).status, 422)
  t.equal((await upload('/api/v1/read-lists/import', '<x')).status, 422)
  t.equal((await upload('/api/v1/read-lists/import', '<ComicInfo/>')).status, 422)
  t.same(readReadingList(Buffer.from(cbl(book('a', '1').repeat(5_001)))), { refused: 'it contains more than 5000 books' })
})
