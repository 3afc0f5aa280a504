import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Publication } from '#core/reading/publication.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { someOf } from '#test/support/lane-size.ts'
import { buildNovel } from '#test/support/readable-books.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { analyze } from '#workers/formats/analyze.ts'
import { listByUnzipper, listEpubEntries } from '#workers/formats/epub/epub-entries.ts'
import { readEpubPackage } from '#workers/formats/epub/epub-package.ts'
import { readPublication } from '#workers/formats/epub/publication.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'
import { readZipDirectory, readZipRecords } from '#workers/formats/zip/zip-directory.ts'

const folder = t.testdir()
let count = 0
const HTML = 'application/xhtml+xml'

function write(bytes: Uint8Array): string {
  const path = join(folder, `${count++}.epub`)
  writeFileSync(path, bytes)
  return path
}

async function read(bytes: Uint8Array): Promise<Publication> {
  const outcome = await readPublication({ root: folder, path: write(bytes) })
  if ('problem' in outcome) throw new Error(outcome.problem.message)
  return outcome.publication
}

/** Files that unzipper cannot list, or of which it lists something else. */
const LISTED_BY_OUR_READER = new Set([
  'with data before it',
  'with data after it',
  'with a comment',
  'in 64 bits',
  'in 64 bits, with data before it',
  'with false fields of 64 bits',
  'with fewer records declared',
  'with a count that wraps',
])

t.test('unzipper lists the entries of an EPUB, and our own reader those of files that unzipper cannot list', async (t) => {
  const novel = buildNovel()
  const x = Buffer.from('x')
  const cases = {
    novel,
    'with a name beyond ASCII': buildEpub({ files: { 'Kapitel ü.xhtml': 'x' } }),
    'with data before it': Buffer.concat([Buffer.from('junk before the archive'), novel]),
    'with data after it': buildZip([{ name: 'a', data: x }], { suffix: Buffer.alloc(3_000) }),
    'with a comment that looks like an end record': buildZip([{ name: 'a', data: x }], {
      comment: Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]),
    }),
    'with a comment': buildZip([{ name: 'a', data: x }], { comment: Buffer.from('packed by hand') }),
    'with adjusted offsets': buildZip([{ name: 'a', data: x }], { adjustedPrefix: Buffer.alloc(500) }),
    'with one name twice': buildZip([
      { name: 'a', data: x },
      { name: 'a', data: Buffer.from('another') },
    ]),
    'in 64 bits': buildZip([{ name: 'a', data: x, zip64: true, method: 8 }], { zip64: true }),
    'in 64 bits, with data before it': buildZip([{ name: 'a', data: x, zip64: true }], { zip64: true, prefix: Buffer.alloc(77) }),
    'with fields of 64 bits': buildZip([{ name: 'a', data: x, zip64: true, method: 8 }]),
    'with false fields of 64 bits': buildZip([{ name: 'a', data: x, bytes: 0xffffffff }]),
    'with another name in an extra field': buildZip([{ name: 'plain', data: x, unicodePath: 'schön' }]),
    'with names in another code page': buildZip([{ name: Buffer.from([0x81, 0x41, 0x82]), data: x }]),
    'with names that lead elsewhere': buildZip(['../a', '/b', 'c\\d', 'e%2ff', ''].map((name) => ({ name, data: x }))),
    'with fewer records declared': buildZip(
      ['a', 'b', 'c'].map((name) => ({ name, data: x })),
      { entriesDeclared: 1 },
    ),
    'with a count that wraps': buildZip(Array.from({ length: 65_540 }, (_, index) => ({ name: `${index}`, data: x }))),
    'encrypted, with a data descriptor, with an unknown method': buildZip([
      { name: 'a', data: x, encrypted: true },
      { name: 'b', data: x, descriptor: true },
      { name: 'c', data: x, method: 93 },
    ]),
    'with equal names': buildZip([
      { name: 'a', data: x },
      { name: 'b', data: x },
      { name: 'a', data: Buffer.alloc(9) },
    ]),
    'with a record at a false offset': buildZip([{ name: 'a', data: x, headerOffset: 0xffffff }]),
    empty: buildZip([]),
  }
  for (const [name, bytes] of Object.entries(cases)) {
    const fd = openSync(write(bytes), 'r')
    try {
      const file = { path: name, fd, bytes: fstatSync(fd).size }
      t.ok(isDeepStrictEqual(await listEpubEntries(file), readZipDirectory(fd, file.bytes)), name)
      t.equal((await listByUnzipper(file, readZipRecords(fd, file.bytes))) === null, LISTED_BY_OUR_READER.has(name), name)
    } finally {
      closeSync(fd)
    }
  }
})

t.test('names that are percent-encoded in the archive itself', async (t) => {
  const item = (id: string, href: string) => `<item id="${id}" href="${href}" media-type="application/xhtml+xml"/>`
  const hrefs = [
    'chapter%201.xhtml',
    'chapter 2.xhtml',
    'CHAPTER%203.xhtml',
    'caf%C3%A9.xhtml',
    '100%25.xhtml',
    '50%.xhtml',
    'plain%20one.xhtml',
  ]
  const names = [
    'chapter%201.xhtml',
    'chapter%202.xhtml',
    'chapter%203.xhtml',
    'caf%C3%A9.xhtml',
    '100%.xhtml',
    '50%.xhtml',
    'plain one.xhtml',
  ]
  const bytes = buildEpub({
    manifest: hrefs.map((href, index) => item(`c${index}`, href)).join(''),
    spine: hrefs.map((_, index) => `<itemref idref="c${index}"/>`).join(''),
    files: { 'c1.xhtml': null, ...Object.fromEntries(names.map((name) => [name, `<p>${name}</p>`])) },
  })
  const path = write(bytes)
  const fd = openSync(path, 'r')
  try {
    const { spine } = readEpubPackage(new ZipArchive({ path, fd, bytes: bytes.length }))
    t.same(
      spine.items.map(({ entry }) => entry?.name),
      names.map((name) => `OPS/${name}`),
    )
  } finally {
    closeSync(fd)
  }
})

t.test('the contents of EPUB 2', async (t) => {
  const point = (title: string, src: string, inside = '') =>
    `<navPoint><navLabel><text>${title}</text></navLabel><content src="${src}"/>${inside}</navPoint>`
  const publication = await read(
    buildEpub({
      version: '2.0',
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
      files: { 'toc.ncx': `<ncx><navMap>${point('One', 'c1.xhtml', point(' A\n part ', 'c1.xhtml#a'))}</navMap></ncx>` },
    }),
  )
  t.same(publication.toc, [{ title: 'One', href: 'OPS/c1.xhtml', children: [{ title: 'A part', href: 'OPS/c1.xhtml#a', children: [] }] }])
})

t.test('the contents that the spine names, whatever their media type', async (t) => {
  const ncx = (title: string) =>
    `<ncx><navMap><navPoint><navLabel><text>${title}</text></navLabel><content src="c1.xhtml"/></navPoint></navMap></ncx>`
  const titles = async (items: string, toc: string | undefined, files: Record<string, string>) => {
    const manifest = `<item id="c1" href="c1.xhtml" media-type="${HTML}"/>${items}`
    const { toc: entries } = await read(buildEpub({ manifest, files, ...(toc !== undefined && { toc }) }))
    return entries.map(({ title }) => title)
  }
  const item = (id: string, type: string, href = `${id}.ncx`) => `<item id="${id}" href="${href}" media-type="${type}"/>`
  const two = { 'a.ncx': ncx('A'), 'b.ncx': ncx('B'), 'b.xml': ncx('X') }
  for (const type of ['text/xml', 'application/xml', 'application/octet-stream', '', 'application/x-dtbncx+xml'])
    t.same(await titles(item('a', 'application/x-dtbncx+xml') + item('b', type, 'b.xml'), 'b', two), ['X'], type)
  t.same(await titles(item('b', 'text/xml'), undefined, two), ['B'], 'by its extension')
  t.same(await titles(item('b', 'text/xml') + item('a', 'application/x-dtbncx+xml'), 'none', two), ['A'], 'a reference to nothing')
  t.same(await titles(item('a', 'application/x-dtbncx+xml'), 'c1', two), ['A'], 'a reference to a chapter')
})

t.test('hostile tables of contents are bounded', async (t) => {
  const deep = '<ol><li><a href="c1.xhtml">x</a>'.repeat(100) + '</li></ol>'.repeat(100)
  const many = `<ol>${'<li><a href="c1.xhtml">x</a></li>'.repeat(30_000)}</ol>`
  const nav = (list: string) =>
    buildEpub({
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
      files: { 'nav.xhtml': `<html xmlns:epub="http://www.idpf.org/2007/ops"><nav epub:type="toc">${list}</nav></html>` },
    })
  let depth = 0
  let entries = 0
  for (let at = (await read(nav(deep))).toc; at.length > 0; at = at[0]?.children ?? []) {
    depth++
    entries += at.length
  }
  t.equal(depth, 21, 'levels end')
  t.equal(entries, 100, 'deeper entries stay, on the last level')
  t.equal((await read(nav(many))).toc.length, 20_000, 'entries end')
  t.same((await read(nav('<ol><li>'))).toc, [], 'invalid XML gives an empty table of contents')
})

t.test('names cannot refer to files outside the archive', async (t) => {
  const { files } = await read(buildEpub({ files: { '/../../etc/passwd': 'x', '/\\windows\\win.ini': 'y' } }))
  const paths = files.map(({ path }) => path)
  t.ok(paths.includes('etc/passwd'))
  t.notOk(paths.some((path) => path.includes('..') || path.startsWith('/') || path.includes('\\')))
})

t.test('an unreadable book is a problem', async (t) => {
  for (const path of [
    write(Buffer.from('no zip')),
    join(folder, 'gone.epub'),
    write(buildEpub({ files: { '/META-INF/container.xml': null } })),
  ])
    t.match(await readPublication({ root: folder, path }), { problem: { message: String } })
})

const times = (count: number, text: (index: number) => string) => Array.from({ length: count }, (_, index) => text(index)).join('')

t.test('names, paths and contents of a book are bounded together, before anything is built from them', async (t) => {
  const item = `<item id="c1" href="c1.xhtml" media-type="${HTML}"/>`
  const long = `${'a/'.repeat(2_000)}x`
  const withNav = (nav: string) =>
    buildEpub({
      manifest: `${item}<item id="n" href="nav.xhtml" media-type="${HTML}" properties="nav"/>`,
      files: { 'nav.xhtml': `<html xmlns:epub="http://www.idpf.org/2007/ops">${nav}</html>` },
    })
  const navOf = (type: string, count: number, href: string, title: string) =>
    `<nav epub:type="${type}"><ol>${times(count, () => `<li><a href="${href}">${title}</a></li>`)}</ol></nav>`
  const title = 't'.repeat(900)
  const navPoint = `<navPoint><navLabel><text>${title}</text></navLabel><content src="c1.xhtml"/></navPoint>`
  const hostile: Record<string, Buffer> = {
    'long names': buildZip([
      { name: 'mimetype', data: Buffer.from('application/epub+zip') },
      ...Array.from({ length: 40_000 }, (_, index) => ({ name: `${'n'.repeat(200)}${index}`, data: Buffer.alloc(0) })),
    ]),
    'one long href for many items': buildEpub({
      manifest: item + times(1_600, (index) => `<item id="r${index}" href="${long}" media-type="text/css"/>`),
    }),
    'hrefs that are long once they are encoded': buildEpub({
      manifest: item + times(1_700, (index) => `<item id="r${index}" href="${'漢'.repeat(400)}" media-type="text/css"/>`),
    }),
    'links that are encoded letter by letter': withNav(navOf('toc', 6_700, `c1.xhtml#${'漢'.repeat(100)}`, 'x')),
    'titles of several lists': withNav(
      navOf('toc', 3_000, 'c1.xhtml', title) + navOf('page-list', 3_000, 'c1.xhtml', title) + navOf('landmarks', 700, 'c1.xhtml', title),
    ),
    'an NCX': buildEpub({
      manifest: `${item}<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>`,
      files: { 'toc.ncx': `<ncx><navMap>${navPoint.repeat(6_700)}</navMap></ncx>` },
    }),
  }
  for (const [name, bytes] of someOf('packages', Object.entries(hostile), 2)) {
    const path = write(bytes)
    t.match(
      await readPublication({ root: folder, path }),
      { problem: { type: 'parser', message: /characters together/, fatal: true } },
      name,
    )
    const { problems } = await analyze({ root: folder, path, verifyPages: false })
    t.match(problems, [{ type: 'parser', message: /characters together/, fatal: true }], `${name}, in its analysis`)
  }
  t.equal((await read(withNav(navOf('toc', 9_000, `c1.xhtml#${'ü'.repeat(10)}`, 'a title of usual length')))).toc.length, 9_000)
})

t.test('a file is named once, however often the spine refers to it', async (t) => {
  const { spine, references } = await read(buildEpub({ spine: '<itemref idref="c1"/>'.repeat(180_000) }))
  t.equal(spine.length, 1)
  t.equal(references?.length, 180_000)
})
