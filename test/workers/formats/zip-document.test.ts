import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fileAt } from '#test/support/file-at.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { analyze } from '#workers/formats/analyze.ts'

const folder = t.testdir()
mkdirSync(folder, { recursive: true })
const pages = await numberedPages(2)
let count = 0

async function analyzed(parts: Parameters<typeof buildZip>[0], name: string) {
  const path = join(folder, `${count++} ${name}`)
  writeFileSync(path, buildZip(parts))
  return await analyze({ ...fileAt(path), verifyPages: false })
}
const part = (name: string, text = 'x') => ({ name, data: Buffer.from(text) })
const pictureIn = (name: string) => ({ ...pages[0]!, name })

t.test('documents that are ZIPs but no book are not taken for comics, whatever their name and pictures', async (t) => {
  const documents: Record<string, Parameters<typeof buildZip>[0]> = {
    docx: [part('[Content_Types].xml'), part('_rels/.rels'), part('word/document.xml'), pictureIn('word/media/image1.png')],
    xlsx: [part('[Content_Types].xml'), part('xl/workbook.xml')],
    odt: [part('mimetype', 'application/vnd.oasis.opendocument.text'), part('content.xml'), pictureIn('Thumbnails/thumbnail.png')],
    ods: [part('mimetype', 'application/vnd.oasis.opendocument.spreadsheet\n'), part('META-INF/manifest.xml')],
    fodt: [part('content.xml'), part('META-INF/manifest.xml'), pictureIn('Thumbnails/thumbnail.png')],
    pages: [part('Index/Document.iwa'), pictureIn('preview.jpg')],
    jar: [part('META-INF/MANIFEST.MF'), part('a/B.class'), pictureIn('icon.png')],
  }
  for (const [kind, parts] of Object.entries(documents))
    for (const name of [`a.epub`, `a.${kind}.cbz`]) {
      const { problems, format, pages } = await analyzed(parts, name)
      t.match(problems, [{ type: 'format_detection', fatal: true, message: /Carrel reads CBZ/ }], name)
      t.same([format, pages], [null, []], name)
    }
  const texts = await analyzed([part('chapter.txt'), part('META-INF/container.xml')], 'a.epub')
  t.match(texts.problems, [{ type: 'format_detection', message: /named like an EPUB/ }])
  for (const parts of [
    [part('index.html'), part('metadata.opf'), pictureIn('images/cover.jpg')],
    [part('manifest.json'), part('background.JS'), pictureIn('icons/icon.png')],
  ])
    t.match((await analyzed(parts, 'a.epub')).problems, [{ type: 'format_detection', fatal: true, message: /named like an EPUB/ }])
})

t.test('archives of pictures stay comics', async (t) => {
  for (const [name, parts] of [
    ['a.epub', pages],
    ['b.epub', [part('ComicInfo.xml', '<ComicInfo/>'), part('credits.txt'), ...pages]],
    ['e.cbz', [part('index.html'), ...pages]],
    ['a.cbz', [part('mimetype', 'application/vnd.comicbook+zip'), ...pages]],
    ['b.cbz', [part('META-INF/MANIFEST.MF'), ...pages]],
    ['c.cbz', [part('mimetype', 'some words'), ...pages]],
  ] as const)
    t.match(await analyzed(parts, name), { format: 'cbz', pageCount: 2, problems: [] }, name)
  t.match((await analyzed([part('a.txt')], 'd.cbz')).problems, [{ type: 'zero_pages' }])
})
