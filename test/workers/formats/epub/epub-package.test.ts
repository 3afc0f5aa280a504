import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { analyzeBytes as analyze, coloredPicture as picture } from '#test/support/epub-analysis.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { buildFixedLayoutEpub, xhtmlPage } from '#test/support/fixed-layout-epub.ts'
import { readPublication } from '#workers/formats/epub/publication.ts'

const folder = t.testdir()

async function read(bytes: Uint8Array) {
  const path = join(folder, 'book.epub')
  writeFileSync(path, bytes)
  const outcome = await readPublication({ root: folder, path })
  if ('problem' in outcome) throw new Error(outcome.problem.message)
  return outcome.publication
}

t.test('signs of addresses that are not encoded in an href are part of the name if a file has this name', async (t) => {
  const names = ['What now?.xhtml', 'C# for all.xhtml', '#1.xhtml', 'Who? C#?.xhtml', 'Intro:start.xhtml', 'é?.xhtml', 'usual.xhtml']
  const hrefs = [
    'What now?.xhtml',
    'C# for all.xhtml',
    '#1.xhtml',
    'Who?%20C#?.xhtml',
    'Intro:start.xhtml',
    'E\u0301?.xhtml',
    'usual.xhtml?x#y',
  ]
  const links = [...hrefs.slice(0, -1).flatMap((href) => [href, `${href}#a b`]), 'usual.xhtml?x#y']
  const bytes = buildEpub({
    manifest:
      hrefs.map((href, index) => `<item id="c${index}" href="${href}" media-type="application/xhtml+xml"/>`).join('') +
      '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
    spine: hrefs.map((_, index) => `<itemref idref="c${index}"/>`).join(''),
    files: {
      'c1.xhtml': null,
      ...Object.fromEntries(names.map((name) => [name, textPage(name)])),
      'nav.xhtml': xhtmlPage(`<nav epub:type="toc"><ol>${links.map((href) => `<li><a href="${href}">x</a></li>`).join('')}</ol></nav>`),
    },
  })
  t.same((await analyze(bytes)).problems, [])
  const { spine, files, toc } = await read(bytes)
  t.same(
    spine.map(({ positions }) => positions),
    names.map(() => 1),
  )
  const [accented, usual] = names.splice(-2)
  t.same(
    spine.slice(0, -2).map(({ path }) => path),
    names.map((name) => `OPS/${name}`),
  )
  const addresses = [...names, 'E\u0301?.xhtml'].map((name) => `OPS/${encodeURIComponent(name)}`)
  t.same(
    toc.map(({ href }) => href),
    [...addresses.flatMap((address) => [address, `${address}#a%20b`]), `OPS/${usual}#y`],
  )
  t.ok(files.some(({ path }) => path === `OPS/${accented}`))
})

t.test('a file that an address leads to comes before one whose name has signs of addresses', async (t) => {
  const bytes = buildEpub({
    manifest: '<item id="c1" href="c1.xhtml?x" media-type="application/xhtml+xml"/>',
    files: { 'c1.xhtml?x': textPage('Another.') },
  })
  t.same(
    (await read(bytes)).spine.map(({ path }) => path),
    ['OPS/c1.xhtml'],
  )
})

t.test('the layout is fixed if every linear reference of the spine says so', async (t) => {
  const red = await picture('red')
  const spineOf = (...references: string[]) => references.map((attributes) => `<itemref idref="c1" ${attributes}/>`).join('')
  const fixed = 'properties="page-spread-left rendition:layout-pre-paginated"'
  const isFixed = async (spine: string, metadata = '<dc:title>F</dc:title>') => (await read(buildEpub({ spine, metadata }))).isFixedLayout
  t.equal(await isFixed(spineOf(fixed, fixed)), true)
  t.equal(await isFixed(spineOf(fixed, 'linear="no"')), true, 'a part outside the reading order')
  t.equal(await isFixed(spineOf(`linear="no" ${fixed}`)), true, 'nothing in the reading order')
  t.equal(await isFixed(spineOf(fixed, '')), false)
  t.equal(await isFixed(spineOf(fixed, 'properties="rendition:layout-reflowable"')), false)
  t.equal(await isFixed(''), false, 'no references')
  const saysFixed = '<meta property="rendition:layout">pre-paginated</meta>'
  t.equal(await isFixed(spineOf('properties="rendition:layout-reflowable"', fixed), saysFixed), true, 'as the metadata says')

  const book = await analyze(buildFixedLayoutEpub([red, xhtmlPage(''), red], { metadata: '', reference: fixed }))
  t.match(book, { pageSource: 'zip', pages: [{}, { isBlank: true }, {}], problems: [] })
})
