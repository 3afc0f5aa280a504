import sharp from 'sharp'
import t from 'tap'
import { blankPicture } from '#core/reading/blank-page.ts'

t.test('a blank page is a white picture of its size', async (t) => {
  for (const [width, height] of [
    [1, 1],
    [601, 903],
    [4_000, 16],
  ] as const) {
    const { bytes, mediaType } = await blankPicture({ width, height })
    t.equal(mediaType, 'image/png')
    t.match(await sharp(bytes).metadata(), { format: 'png', width, height })
    const { channels } = await sharp(bytes).flatten().stats()
    t.ok(channels.every(({ min }) => min === 255))
  }
})
