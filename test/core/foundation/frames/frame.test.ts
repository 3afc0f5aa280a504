import fc from 'fast-check'
import t from 'tap'
import { createFrameReader, FRAME_BODY_BYTES_MAX, FRAME_HEADER_BYTES_MAX, frameOf } from '#core/foundation/frames/frame.mjs'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('frames are reassembled from any chunks', async () => {
  const frame = fc.record({
    header: fc.dictionary(fc.string(), fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer())),
    body: fc.string({ unit: 'grapheme' }),
    isText: fc.boolean(),
  })
  assertInTime(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 50 }), (frames, cuts) => {
      const bytes = Buffer.concat(frames.flatMap(({ header, body, isText }) => frameOf(header, isText ? body : Buffer.from(body))))
      const seen: { header: unknown; body: string }[] = []
      const read = createFrameReader((header, body) => seen.push({ header, body: body.toString() }))
      let at = 0
      for (const cut of [...cuts, bytes.length]) {
        if (at >= bytes.length) break
        read(bytes.subarray(at, at + cut))
        at += cut
      }
      return JSON.stringify(seen) === JSON.stringify(frames.map(({ header, body }) => ({ header, body })))
    }),
  )
})

t.test('invalid frames are refused at once', async (t) => {
  const read = () => createFrameReader(() => t.fail('no frame may be reported'))
  const lengths = (head: number, body: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeUInt32LE(head, 0)
    bytes.writeUInt32LE(body, 4)
    return bytes
  }
  t.throws(() => read()(lengths(FRAME_HEADER_BYTES_MAX + 1, 0)), { name: 'RangeError' })
  t.throws(() => read()(lengths(10, FRAME_BODY_BYTES_MAX + 1)), { name: 'RangeError' })
  t.throws(() => read()(Buffer.concat([lengths(3, 0), Buffer.from('{x}')])), { name: 'SyntaxError' })
  t.throws(() => frameOf({ text: 'x'.repeat(FRAME_HEADER_BYTES_MAX) }), { name: 'RangeError' })
})
