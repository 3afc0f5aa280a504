import t from 'tap'
import { analyzeBytes as analyze } from '#test/support/epub-analysis.ts'
import { buildEpub } from '#test/support/epub-builder.ts'

t.test('a cover of a kind that is not drawn, or elsewhere, is a remark', async (t) => {
  const jxl = Buffer.from([0xff, 0x0a, ...Array(100).fill(7)])
  const withCover = (href: string, mediaType: string, content: Buffer | null) =>
    buildEpub({
      manifest: `<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="v" href="${href}" media-type="${mediaType}" properties="cover-image"/>`,
      files: { [href]: content },
    })
  const remarks: Record<string, Buffer> = {
    'JPEG XL': withCover('cover.jxl', 'image/jxl', jxl),
    'JPEG XL by another name': withCover('cover.jpg', 'image/jpeg', jxl),
    'another foreign resource': withCover('cover.xyz', 'image/x-unheard-of', Buffer.from('cover')),
    'another host': withCover('https://example.org/cover.jpg', 'image/jpeg', null),
  }
  for (const [name, bytes] of Object.entries(remarks)) {
    const book = await analyze(bytes)
    t.match([book.cover, book.problems], [null, [{ type: 'other', fatal: false, message: /placeholder/ }]], name)
  }
  t.match(
    (await analyze(withCover('cover.jpg', 'image/jpeg', Buffer.from('broken')))).problems,
    [{ type: 'thumbnail' }],
    'a broken one is an error',
  )
})
