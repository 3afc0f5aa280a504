import t from 'tap'
import { chooseVariant } from '#core/reading/page-variant.ts'

t.test('picture formats that are kept, and others that are converted', async (t) => {
  const page = (type: string) => ({ mediaType: `image/${type}`, width: 1000, height: 1500 })
  const asked = { isPdf: false, format: 'jpeg', keeps: ['image/jpeg', 'image/png'] } as const
  t.equal(chooseVariant(page('png'), asked).kind, 'original')
  t.match(chooseVariant(page('webp'), asked), { kind: 'resized', format: 'jpeg' })
  t.match(chooseVariant(page('png'), { ...asked, width: 640 }), { kind: 'resized', width: 640, format: null }, 'narrower, and still PNG')
  t.equal(chooseVariant(page('png'), { ...asked, width: 1280 }).kind, 'original', 'never wider')
  t.equal(chooseVariant(page('png'), { ...asked, isPdf: true }).kind, 'rendered', 'pages of PDFs are drawn as JPEG')
})
