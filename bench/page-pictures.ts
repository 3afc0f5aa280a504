import { randomFillSync } from 'node:crypto'
import sharp from 'sharp'

/** A JPEG of 1600 × 2400, if not stated otherwise, with the size of a real scan (then some 700 KB): a soft gradient under noise. */
export async function scanPage({ width = 1600, height = 2400 } = {}): Promise<Buffer> {
  // Noise at a fifth of the size, enlarged: pure noise would have several megabytes, a flat color almost none.
  const noise = randomFillSync(Buffer.allocUnsafe((width / 5) * (height / 5) * 3))
  return sharp(noise, { raw: { width: width / 5, height: height / 5, channels: 3 } })
    .resize(width, height, { kernel: 'cubic' })
    .jpeg({ quality: 55 })
    .toBuffer()
}

/** A valid small JPEG, padded to exactly `bytes` with comment segments; unique by `mark`. */
export async function jpegOfSize(bytes: number, mark: Uint8Array): Promise<Buffer> {
  const small = await sharp({ create: { width: 1600, height: 2400, channels: 3, background: '#cba' } })
    .jpeg()
    .toBuffer()
  const parts: Buffer[] = [small.subarray(0, 2)]
  let missing = bytes - small.length
  while (missing > 0) {
    // A segment has at most 65,535 bytes, including its own length; at least 4 must remain for the next one.
    let size = Math.min(missing, 65_537)
    if (missing - size > 0 && missing - size < 4) size -= 4
    const segment = randomFillSync(Buffer.alloc(size))
    segment.writeUInt16BE(0xfffe, 0)
    segment.writeUInt16BE(size - 2, 2)
    segment.set(mark.subarray(0, Math.max(0, size - 4)), 4)
    parts.push(segment)
    missing -= size
  }
  parts.push(small.subarray(2))
  return Buffer.concat(parts)
}
