import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildEpub } from '#test/support/epub-builder.ts'
import { xhtmlPage } from '#test/support/fixed-layout-epub.ts'
import { readPublication } from '#workers/formats/epub/publication.ts'

const folder = t.testdir()

async function read(bytes: Uint8Array) {
  const path = join(folder, 'book.epub')
  writeFileSync(path, bytes)
  const outcome = await readPublication({ root: folder, path })
  if ('problem' in outcome) throw new Error(outcome.problem.message)
  return outcome.publication
}

const HTML = 'application/xhtml+xml'
const item = (id: string, href: string, more = `media-type="${HTML}"`) => `<item id="${id}" href="${href}" ${more}/>`
const entry = (title: string, href: string, children: object[] = []) => ({ title, href, children })

t.test('navigation lists do not lead to files that the book lacks', async (t) => {
  const link = (href: string, title: string, below = '') => `<li><a href="${href}">${title}</a>${below}</li>`
  const { spine, toc, landmarks, pageList } = await read(
    buildEpub({
      manifest: item('c1', 'c1.xhtml') + item('c2', 'ch2.xhtml') + item('n', 'nav.xhtml', `media-type="${HTML}" properties="nav"`),
      spine: '<itemref idref="c1"/><itemref idref="c2"/>',
      files: {
        'nav.xhtml': xhtmlPage(
          `<nav epub:type="toc"><ol>${link('C1.xhtml#a', 'One')}${link('ch2.xhtml', 'Two', `<ol>${link('c1.xhtml#b', 'Below')}</ol>`)}` +
            `${link('ch2.xhtml#x', 'Gone')}${link('#own', 'Here')}${link('', 'Empty')}</ol></nav>` +
            `<nav epub:type="landmarks"><ol>${link('ch2.xhtml', 'Start')}${link('c1.xhtml', 'Text')}</ol></nav>` +
            `<nav epub:type="page-list"><ol>${link('ch2.xhtml#p1', '1')}${link('c1.xhtml#p2', '2')}</ol></nav>`,
        ),
      },
    }),
  )
  t.same(
    spine.map(({ path }) => path),
    ['OPS/c1.xhtml'],
  )
  t.same(toc, [
    entry('One', 'OPS/C1.xhtml#a'),
    entry('Two', '', [entry('Below', 'OPS/c1.xhtml#b')]),
    entry('Gone', ''),
    entry('Here', 'OPS/nav.xhtml#own'),
    entry('Empty', ''),
  ])
  t.same(landmarks, [entry('Start', ''), entry('Text', 'OPS/c1.xhtml')])
  t.same(pageList, [entry('1', ''), entry('2', 'OPS/c1.xhtml#p2')])
})

t.test('an NCX does not lead to files that the book lacks', async (t) => {
  const point = (name: string, title: string, src: string, below = '') =>
    `<${name}><navLabel><text>${title}</text></navLabel><content src="${src}"/>${below}</${name}>`
  const { toc, pageList } = await read(
    buildEpub({
      manifest: item('c1', 'c1.xhtml') + item('c2', 'ch2.xhtml') + item('n', 'toc.ncx', 'media-type="application/x-dtbncx+xml"'),
      spine: '<itemref idref="c1"/><itemref idref="c2"/>',
      files: {
        'toc.ncx':
          `<ncx><navMap>${point('navPoint', 'Two', 'ch2.xhtml', point('navPoint', 'Below', 'c1.xhtml'))}${point('navPoint', 'Far', '../x/c1.xhtml')}</navMap>` +
          `<pageList>${point('pageTarget', '1', 'ch2.xhtml#p1')}${point('pageTarget', '2', 'c1.xhtml#p2')}</pageList></ncx>`,
      },
    }),
  )
  t.same(toc, [entry('Two', '', [entry('Below', 'OPS/c1.xhtml')]), entry('Far', '')])
  t.same(pageList, [entry('1', ''), entry('2', 'OPS/c1.xhtml#p2')])
})
