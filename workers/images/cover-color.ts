import sharp from 'sharp'
import { DECODE_SECONDS_MAX, PIXELS_MAX } from '../limits.ts'

/** Enough to see which color covers most of a picture; a JPEG of a thumbnail is decoded at an eighth of its size for it. */
const LONGEST_SIDE = 48
/** Bits of each channel that decide whether two pixels are of about the same color. */
const BITS = 3
/** How much more a saturated pixel counts than a gray one: paper and lines cover most of many comics, and their color says least. */
const SATURATED = 3

/** The color of most of a picture, as `#rrggbb`. @throws the error of libvips */
export async function colorOf(jpeg: Uint8Array): Promise<string> {
  const { data, info } = await sharp(jpeg, { limitInputPixels: PIXELS_MAX })
    .timeout({ seconds: DECODE_SECONDS_MAX })
    .resize({ width: LONGEST_SIDE, height: LONGEST_SIDE, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .removeAlpha()
    .toFormat('raw')
    .toBuffer({ resolveWithObject: true })
  return mostOf(data, info.channels)
}

/** The mean of the pixels that are most alike. */
function mostOf(pixels: Uint8Array, channels: number): string {
  const sums = new Map<number, { weight: number; rgb: [number, number, number] }>()
  let best = { weight: 0, rgb: [0, 0, 0] as [number, number, number] }
  for (let at = 0; at + channels <= pixels.length; at += channels) {
    const red = pixels[at] as number
    const [green, blue] = channels >= 3 ? [pixels[at + 1] as number, pixels[at + 2] as number] : [red, red]
    const bin = ((red >> (8 - BITS)) << (2 * BITS)) | ((green >> (8 - BITS)) << BITS) | (blue >> (8 - BITS))
    const weight = 1 + (SATURATED * (Math.max(red, green, blue) - Math.min(red, green, blue))) / 255
    const sum = sums.get(bin) ?? { weight: 0, rgb: [0, 0, 0] }
    sums.set(bin, sum)
    sum.weight += weight
    for (const [index, value] of [red, green, blue].entries()) sum.rgb[index as 0 | 1 | 2] += value * weight
    if (sum.weight > best.weight) best = sum
  }
  const hex = best.rgb.map((value) =>
    Math.round(value / (best.weight || 1))
      .toString(16)
      .padStart(2, '0'),
  )
  return `#${hex.join('')}`
}
