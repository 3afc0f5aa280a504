import sharp from 'sharp'

export interface PictureRequest {
  width: number
  height: number
  format?: 'jpeg' | 'png' | 'gif' | 'webp' | 'avif' | 'tiff'
  /** Noise makes a picture that does not compress, as scans do; flat color makes one of a few hundred bytes. */
  noise?: boolean
  /** EXIF orientation 1 to 8; width and height are then those of the stored picture. */
  orientation?: number
}

/** A small picture made by libvips. */
export async function makePicture({ width, height, format = 'jpeg', noise = false, orientation }: PictureRequest): Promise<Buffer> {
  const create = noise
    ? { width, height, channels: 3 as const, noise: { type: 'gaussian' as const, mean: 128, sigma: 40 } }
    : { width, height, channels: 3 as const, background: { r: width % 256, g: height % 256, b: 90 } }
  const picture = sharp({ create: create as never }).toFormat(format)
  return await (orientation === undefined ? picture : picture.withMetadata({ orientation })).toBuffer()
}

export interface NumberedPage {
  name: string
  data: Buffer
  width: number
  height: number
}

/** Pages "page1.png" to "page<count>.png", page k being (40 + k) × 60 pixels, so that sizes show the order. Given in reverse. */
export async function numberedPages(count: number): Promise<NumberedPage[]> {
  const numbers = Array.from({ length: count }, (_, index) => count - index)
  return await Promise.all(
    numbers.map(async (number) => {
      const size = { width: 40 + number, height: 60 }
      return { name: `page${number}.png`, data: await makePicture({ ...size, format: 'png' }), ...size }
    }),
  )
}

/** The first bytes of a PNG that declares any size: signature, IHDR and padding. */
export function pngHeader(width: number, height: number): Buffer {
  const header = Buffer.from('89504e470d0a1a0a0000000d4948445200000000000000000802000000000000000000000049454e44ae426082', 'hex')
  header.writeUInt32BE(width, 16)
  header.writeUInt32BE(height, 20)
  return header
}

/** An ordinary comic page. */
export const jpegPage = (size: { width: number; height: number; noise?: boolean }): Promise<Buffer> =>
  makePicture({ ...size, format: 'jpeg' })
