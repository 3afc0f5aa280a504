import t from 'tap'
import { booksArchive } from '#api/views/series-archive.ts'

t.test('while an archive is sent, the file under way decides whether it may go on', async (t) => {
  const hidden = new Set<string>()
  const files = ['first', 'second'].map((name) => ({
    ...{ name, path: name, inside: '/', bytes: 1, mtimeNs: '1' },
    isAllowed: async () => !hidden.has(name),
  }))
  const call = {
    services: { seriesDownloads: { openBooks: async () => ({ archiveName: 'list.zip', files, done() {} }) } },
    caller: {},
    signal: new AbortController().signal,
  }
  const reply = await booksArchive(call as never, { title: 'list', bookIds: [] })
  t.equal(await reply.isAllowed(), true)
  hidden.add('first')
  t.equal(await reply.isAllowed(), false, 'before the first file it decides')
  t.equal(await reply.files[1]?.isAllowed(), true, 'the second begins')
  t.equal(await reply.isAllowed(), true, 'what was sent is sent')
  hidden.add('second')
  t.equal(await reply.isAllowed(), false)
})
