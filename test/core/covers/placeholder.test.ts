import sharp from 'sharp'
import t from 'tap'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'

t.test('the placeholder is a whole JPEG of the size and shape of a cover', async (t) => {
  const { data, info } = await sharp(PLACEHOLDER_COVER, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true })
  t.match(info, { width: 267, height: 400, channels: 3 })
  t.equal((await sharp(PLACEHOLDER_COVER).metadata()).format, 'jpeg')
  t.ok(new Set(data).size > 2, 'something is drawn on it')
})
