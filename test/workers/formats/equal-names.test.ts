import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Analysis } from '#core/fields/analysis.ts'
import { fileAt } from '#test/support/file-at.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { analyze } from '#workers/formats/analyze.ts'
import { lastOfEqualNames } from '#workers/formats/equal-names.ts'
import { extractRarPages, readRarPage } from '#workers/formats/rar/rar-page.ts'

const [one, two, three] = (await numberedPages(3)).map(({ data }) => data) as [Buffer, Buffer, Buffer]
const info = (title: string) => Buffer.from(`<ComicInfo><Title>${title}</Title></ComicInfo>`)

t.test('of equal names the last counts, in its place', async (t) => {
  const last = (names: string[]) => lastOfEqualNames(names.map((name, nth) => ({ name, nth }))).map(({ nth }) => nth)
  t.same(last(['a', 'b', 'c']), [0, 1, 2])
  t.same(last(['a', 'b', 'a', 'c', 'a']), [1, 3, 4])
  t.same(last(['a', './a']), [1])
  t.same(last(['x/./a', 'x//a', '/x/a']), [2])
  t.same(last(['caf\u00e9.png', 'cafe\u0301.png']), [1])
  t.same(last(['a', 'A', 'a/', 'x/a']), [0, 1, 2, 3], 'case, folders and other folders differ')
})

for (const [format, build] of [
  ['cbz', buildZip],
  ['cbr', buildRar],
] as const) {
  t.test(`${format}: an appended file replaces the one before it`, async (t) => {
    const path = join(t.testdir({}), `book.${format}`)
    const read = async (parts: { name: string; data: Buffer }[]): Promise<Analysis> => {
      writeFileSync(path, build(parts))
      return await analyze({ ...fileAt(path), verifyPages: true })
    }
    const base = [
      { name: '1.png', data: one },
      { name: 'ComicInfo.xml', data: info('old') },
      { name: '2.png', data: two },
    ]
    for (const name of ['ComicInfo.xml', 'comicinfo.XML', './ComicInfo.xml', 'Comic%49nfo.xml'])
      t.equal((await read([...base, { name, data: info('new') }])).embedded.title, name.includes('%') ? 'old' : 'new', name)
    t.equal((await read([...base, { name: 'extras/ComicInfo.xml', data: info('other') }])).embedded.title, 'old')

    const { pages, pageCount } = await read([...base, { name: '1.png', data: three }])
    t.equal(pageCount, 2)
    t.equal(pages[0]?.bytes, three.length)
    if (format !== 'cbr') return
    const outcome = await readRarPage({ ...fileAt(path), index: 0, page: pages[0]! })
    t.ok('bytes' in outcome && Buffer.from(outcome.bytes).equals(three))
    t.equal(await extractRarPages({ ...fileAt(path), pages, folder: join(t.testdirName, 'pages') }), null)
  })
}
