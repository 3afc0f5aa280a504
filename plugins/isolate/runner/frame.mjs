// @ts-check
/**
 * Messages between the server and a runner: two lengths, a header that the receiver reads, and a body that it hands on unread.
 *
 *   u32 length of the header | u32 length of the body | header (JSON, UTF-8) | body (UTF-8)
 *
 * Plain JavaScript, as the whole of this folder: a runner that has to strip types starts in twice the time and holds 20 MB more.
 */

const LENGTHS_BYTES = 8
/** Headers hold names, ids and numbers, and errors of 4 KB with stacks of 8 KB. */
export const HEADER_BYTES_MAX = 64 * 1024
/** The largest argument of a call is 8 MB of text, which may need two bytes more for some letters. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024

/**
 * @param {object} header
 * @param {string} [body]
 * @returns {Buffer}
 */
export function frameOf(header, body = '') {
  const head = JSON.stringify(header)
  const headBytes = Buffer.byteLength(head)
  const bodyBytes = Buffer.byteLength(body)
  if (headBytes > HEADER_BYTES_MAX) throw new RangeError(`A header of ${headBytes} bytes is beyond the ${HEADER_BYTES_MAX} of a frame.`)
  if (bodyBytes > BODY_BYTES_MAX) throw new RangeError(`A body of ${bodyBytes} bytes is beyond the ${BODY_BYTES_MAX} of a frame.`)
  const frame = Buffer.allocUnsafe(LENGTHS_BYTES + headBytes + bodyBytes)
  frame.writeUInt32LE(headBytes, 0)
  frame.writeUInt32LE(bodyBytes, 4)
  frame.write(head, LENGTHS_BYTES, 'utf8')
  if (bodyBytes > 0) frame.write(body, LENGTHS_BYTES + headBytes, 'utf8')
  return frame
}

/**
 * Puts frames together again from chunks of any size. What it returns throws at the first byte that is no frame: the other side cannot be
 * trusted any further then.
 * @param {(header: unknown, body: string) => void} onFrame
 * @returns {(chunk: Buffer) => void}
 */
export function createFrameReader(onFrame) {
  /** @type {Buffer[]} */
  let chunks = []
  let held = 0
  /** Bytes that the frame at hand needs; its lengths at first. */
  let needed = LENGTHS_BYTES
  return (chunk) => {
    chunks.push(chunk)
    held += chunk.length
    if (held < needed) return
    let bytes = chunks.length === 1 ? /** @type {Buffer} */ (chunks[0]) : Buffer.concat(chunks)
    while (bytes.length >= LENGTHS_BYTES) {
      const headBytes = bytes.readUInt32LE(0)
      const bodyBytes = bytes.readUInt32LE(4)
      if (headBytes > HEADER_BYTES_MAX || bodyBytes > BODY_BYTES_MAX)
        throw new RangeError(`A frame of ${headBytes} and ${bodyBytes} bytes is too large.`)
      needed = LENGTHS_BYTES + headBytes + bodyBytes
      if (bytes.length < needed) break
      const bodyAt = LENGTHS_BYTES + headBytes
      const header = JSON.parse(bytes.toString('utf8', LENGTHS_BYTES, bodyAt))
      const body = bytes.toString('utf8', bodyAt, needed)
      bytes = bytes.subarray(needed)
      needed = LENGTHS_BYTES
      onFrame(header, body)
    }
    chunks = bytes.length > 0 ? [bytes] : []
    held = bytes.length
  }
}
