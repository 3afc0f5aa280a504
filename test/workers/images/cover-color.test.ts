import sharp from 'sharp'
import t from 'tap'
import { makePicture } from '#test/support/pictures.ts'
import { colorOf } from '#workers/images/cover-color.ts'
import { makeThumbnail } from '#workers/images/image.ts'

type Rgb = { r: number; g: number; b: number }
const WHITE: Rgb = { r: 255, g: 255, b: 255 }
const RED: Rgb = { r: 190, g: 30, b: 40 }

/** A picture of one color with a rectangle of another. */
async function twoColors(background: Rgb, { color, width, height }: { color: Rgb; width: number; height: number }): Promise<Buffer> {
  const patch = await sharp({ create: { width, height, channels: 3, background: color } })
    .png()
    .toBuffer()
  const create = { width: 600, height: 900, channels: 3 as const, background }
  return await sharp({ create })
    .composite([{ input: patch, left: 0, top: 0 }])
    .png()
    .toBuffer()
}

/** Whether both are the same but for compression. */
function isNear(color: string, { r, g, b }: Rgb): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
  return Math.abs(red - r) + Math.abs(green - g) + Math.abs(blue - b) < 24
}

t.test('the color of a cover is that of most of it', async (t) => {
  const { color } = await makeThumbnail(await twoColors(RED, { color: WHITE, width: 600, height: 200 }))
  t.match(color, /^#[0-9a-f]{6}$/)
  t.ok(isNear(color, RED), color)
})

t.test('the color of a drawing on white paper is that of the drawing, if it covers a good part', async (t) => {
  const { color } = await makeThumbnail(await twoColors(WHITE, { color: RED, width: 600, height: 350 }))
  t.ok(isNear(color, RED), color)
  const { color: mostlyWhite } = await makeThumbnail(await twoColors(WHITE, { color: RED, width: 100, height: 100 }))
  t.ok(isNear(mostlyWhite, WHITE), mostlyWhite)
})

t.test('gray, transparent and tiny pictures have a color', async (t) => {
  const gray = await sharp({ create: { width: 40, height: 60, channels: 3, background: { r: 90, g: 90, b: 90 } } })
    .toColourspace('b-w')
    .jpeg()
    .toBuffer()
  t.ok(isNear((await makeThumbnail(gray)).color, { r: 90, g: 90, b: 90 }))
  const clear = await sharp({ create: { width: 40, height: 60, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } })
    .png()
    .toBuffer()
  t.ok(isNear((await makeThumbnail(clear)).color, WHITE), 'on the white that it is drawn on')
  t.match((await makeThumbnail(await makePicture({ width: 1, height: 1 }))).color, /^#/)
})

t.test('the color is that of the drawn cover, and what is no picture has none', async (t) => {
  const { jpeg, color } = await makeThumbnail(await makePicture({ width: 900, height: 1200 }))
  t.equal(await colorOf(jpeg), color)
  await t.rejects(colorOf(Buffer.from('no picture')))
  await t.rejects(colorOf(new Uint8Array(0)))
})
