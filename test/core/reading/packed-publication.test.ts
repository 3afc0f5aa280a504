import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { packPublication, unpackPublication } from '#core/reading/packed-publication.ts'
import { foldPath, type Publication, type TocEntry } from '#core/reading/publication.ts'

const zip = { offset: 1, compressedBytes: 2, method: 8, crc32: 3 } as const
const fileOf = (path: string) => {
  const folded = foldPath(path)
  return { path, ...(folded !== path && { folded }), mediaType: 'text/css', bytes: 4, zip }
}
const nested = (depth: number): TocEntry => ({ title: `é\n${depth}`, href: 'a', children: depth === 0 ? [] : [nested(depth - 1)] })

const publicationOf = (files: number): Publication => ({
  isFixedLayout: false,
  readingProgression: 'rtl',
  spine: [{ path: 'ü b', href: '%C3%BC%20b', mediaType: 'text/html', positions: 3, side: 'left', contains: ['svg'] }],
  references: [0, 0],
  resources: [{ path: 'c', mediaType: 'text/css', rel: 'cover' }],
  toc: [nested(20), nested(0)],
  landmarks: [],
  pageList: [nested(1)],
  files: [
    ...Array.from({ length: files }, (_, index) => fileOf(`f/${index}`)),
    fileOf('Big/Ünder.CSS'),
    { ...fileOf('locked'), zip: null },
  ],
})

t.test('a publication is the same after its way between threads', async (t) => {
  const publication = publicationOf(3_000)
  const { publication: read, memory } = await unpackPublication(packPublication(publication))
  const { find, ...rest } = read
  t.same(rest, publication)
  t.ok(memory > 3_000 * 200 && memory < 3_000 * 1_000)
  t.equal(find('f/12')?.path, 'f/12')
  t.equal(find('/x/../F/12')?.path, 'f/12', 'by another spelling')
  t.equal(find('big/u\u0308nder.css')?.path, 'Big/Ünder.CSS')
  t.equal(find('f/3000'), undefined)
})

t.test('it is read in runs, with turns of the event loop in between', async (t) => {
  const packed = packPublication(publicationOf(50_000))
  const lines = Buffer.from(packed).toString().split('\n')
  t.ok(lines.length > 50)
  t.ok(
    lines.every((line) => line.length < 300_000),
    'a run is short',
  )
  let turns = 0
  let ended = false
  const reading = unpackPublication(packed).finally(() => {
    ended = true
  })
  while (!ended) {
    await nextTurn()
    turns++
  }
  await reading
  t.ok(turns >= lines.length - 1, 'others have a turn after each run')
})
