/** Nested uses, each with a filter over its content: librsvg would draw for years. */
export const endlessSvg = Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="1000" height="1000"><defs>
<filter id="f"><feGaussianBlur stdDeviation="100"/></filter><g id="a0"><circle r="500" fill-opacity="0.1"/></g>
${Array.from({ length: 20 }, (_, at) => `<g id="a${at + 1}">${`<use xlink:href="#a${at}" filter="url(#f)"/>`.repeat(10)}</g>`).join('\n')}
</defs><use xlink:href="#a20"/></svg>`,
)

/** A gray JPEG of zeros: all scans after the first are a few bytes long and change nothing. */
export function scannedJpeg(side: number, scans: number): Buffer {
  const segment = (mark: number, body: number[]) => Buffer.from([0xff, mark, (body.length + 2) >> 8, (body.length + 2) & 255, ...body])
  const blocks = Math.ceil(side / 8) ** 2
  const scan = Buffer.concat([segment(0xda, [1, 1, 0, 1, 63, 0]), packBits(emptyRuns(blocks))])
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, [0, ...Array<number>(64).fill(1)]),
    segment(0xc2, [8, side >> 8, side & 255, side >> 8, side & 255, 1, 1, 0x11, 0]),
    // One code of one bit for "no difference", and two codes for a run of 2^14 blocks or more and for a single block.
    segment(0xc4, [0, 1, ...Array<number>(15).fill(0), 0]),
    segment(0xc4, [0x10, 1, 1, ...Array<number>(14).fill(0), 0xe0, 0]),
    segment(0xda, [1, 1, 0, 0, 0, 0]),
    Buffer.alloc(Math.ceil(blocks / 8)),
    ...Array<Buffer>(scans - 1).fill(scan),
    Buffer.from([0xff, 0xd9]),
  ])
}

function emptyRuns(blocks: number): string {
  let bits = ''
  for (let left = blocks; left > 0; ) {
    const run = left >= 16_384 ? Math.min(left, 32_767) : 1
    bits += run === 1 ? '10' : `0${(run - 16_384).toString(2).padStart(14, '0')}`
    left -= run
  }
  return bits
}

/** The bytes of a scan: padded with one bits, with a zero byte after each byte 0xff. */
function packBits(bits: string): Buffer {
  const bytes = (bits.padEnd(Math.ceil(bits.length / 8) * 8, '1').match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2))
  return Buffer.from(bytes.flatMap((byte) => (byte === 255 ? [255, 0] : [byte])))
}

/** An animated WebP that repeats one still picture; libvips searches each frame from the first. */
export function movingWebp(still: Buffer, frames: number): Buffer {
  const chunk = (name: string, body: Buffer) => {
    const head = Buffer.alloc(8)
    head.write(name, 'latin1')
    head.writeUInt32LE(body.length, 4)
    return Buffer.concat([head, body])
  }
  const canvas = Buffer.alloc(10)
  canvas[0] = 2
  canvas.writeUIntLE(15, 4, 3)
  canvas.writeUIntLE(15, 7, 3)
  const place = Buffer.alloc(16)
  place.writeUIntLE(15, 6, 3)
  place.writeUIntLE(15, 9, 3)
  place.writeUIntLE(10, 12, 3)
  const frame = chunk('ANMF', Buffer.concat([place, still.subarray(12)]))
  const body = [Buffer.from('WEBP'), chunk('VP8X', canvas), chunk('ANIM', Buffer.alloc(6)), ...Array<Buffer>(frames).fill(frame)]
  return chunk('RIFF', Buffer.concat(body))
}
