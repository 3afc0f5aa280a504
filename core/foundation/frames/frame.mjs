// @ts-check
/**
 * Messages between the server and a child process: two lengths, a header that the receiver parses, and an opaque body.
 *
 *   u32 length of the header | u32 length of the body | header (JSON, UTF-8) | body
 *
 * In a folder of its own: it is the only code of the server that a plugin runner may read, besides its own. Plain JavaScript, because stripping types
 * doubles the start time of a runner and takes 20 MB more.
 */

const LENGTHS_BYTES = 8
const LENGTHS = 0
const HEADER = 1
const BODY = 2
const UNWANTED = 3
/** Headers contain names, ids, two paths of 4,096 bytes, and messages of 4,096 characters, each of which JSON may escape with six. */
export const FRAME_HEADER_BYTES_MAX = 64 * 1024
/**
 * The largest argument of a plugin's call is 8 MB of text, in which some letters may need two more bytes. A drawn page of 5,000 × 5,000 pixels of noise
 * has 20 MB as JPEG.
 */
export const FRAME_BODY_BYTES_MAX = 32 * 1024 * 1024

/** @param {number} headerBytes @param {number} bodyBytes @param {number} bodyBytesMax */
function checkLengths(headerBytes, bodyBytes, bodyBytesMax) {
  if (headerBytes <= FRAME_HEADER_BYTES_MAX && bodyBytes <= bodyBytesMax) return
  throw new RangeError(
    `A frame of ${headerBytes} and ${bodyBytes} bytes is too large; the limits are ${FRAME_HEADER_BYTES_MAX} and ${bodyBytesMax}.`,
  )
}

/**
 * @param {object} header
 * @param {string | Uint8Array} [body]
 * @param {number} [bodyBytesMax]
 * @returns {Buffer[]} to be sent one after the other: a body of bytes is not copied
 */
export function frameOf(header, body = '', bodyBytesMax = FRAME_BODY_BYTES_MAX) {
  const head = JSON.stringify(header)
  const headBytes = Buffer.byteLength(head)
  const bodyBytes = Buffer.byteLength(body)
  checkLengths(headBytes, bodyBytes, bodyBytesMax)
  const isText = typeof body === 'string'
  const frame = Buffer.allocUnsafe(LENGTHS_BYTES + headBytes + (isText ? bodyBytes : 0))
  frame.writeUInt32LE(headBytes, 0)
  frame.writeUInt32LE(bodyBytes, 4)
  frame.write(head, LENGTHS_BYTES, 'utf8')
  if (!isText) return [frame, Buffer.from(body.buffer, body.byteOffset, body.byteLength)]
  if (bodyBytes > 0) frame.write(body, LENGTHS_BYTES + headBytes, 'utf8')
  return [frame]
}

/**
 * Reassembles frames from chunks of any size. The returned function throws at the first byte that is not a frame: the other side cannot be
 * trusted after that.
 * @param {(header: unknown, body: Buffer) => void} onFrame copies or decodes what it keeps of the body
 * @param {object} [options]
 * @param {(header: unknown, bodyBytes: number, headerBytes: number) => boolean} [options.isWanted] called before the body is read; an unwanted body is
 *   skipped as it arrives, and its frame is reported with an empty one. Throws to stop reading
 * @param {number} [options.bodyBytesMax]
 * @returns {(chunk: Buffer) => void}
 */
export function createFrameReader(onFrame, { isWanted = () => true, bodyBytesMax = FRAME_BODY_BYTES_MAX } = {}) {
  /** What has arrived of an incomplete part. @type {Buffer[]} */
  let chunks = []
  let bytesHeld = 0
  /** What the next bytes are: the lengths, the header, the body, or an unwanted body. */
  let part = LENGTHS
  /** Length of this part in bytes. */
  let needed = LENGTHS_BYTES
  let bodyBytes = 0
  /** @type {unknown} */
  let header

  /** @param {Buffer} bytes that contain a complete part @param {number} from where it begins */
  const take = (bytes, from) => {
    if (part === LENGTHS) {
      needed = bytes.readUInt32LE(from)
      bodyBytes = bytes.readUInt32LE(from + 4)
      checkLengths(needed, bodyBytes, bodyBytesMax)
      part = HEADER
    } else if (part === HEADER) {
      const headerBytes = needed
      header = JSON.parse(bytes.toString('utf8', from, from + headerBytes))
      needed = bodyBytes
      part = isWanted(header, bodyBytes, headerBytes) ? BODY : UNWANTED
    } else {
      const body = bytes.subarray(from, part === BODY ? from + needed : from)
      needed = LENGTHS_BYTES
      part = LENGTHS
      onFrame(header, body)
    }
  }

  return (chunk) => {
    chunks.push(chunk)
    bytesHeld += chunk.length
    if (bytesHeld < needed && part !== UNWANTED) return
    const bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks)
    let at = 0
    // Each iteration ends a part or the loop: a frame has three parts, of which only the body may be empty.
    for (;;) {
      const left = bytes.length - at
      if (left < needed) {
        if (part === UNWANTED) {
          needed -= left
          at = bytes.length
        }
        break
      }
      const from = at
      at += needed
      take(bytes, from)
    }
    chunks = at < bytes.length ? [bytes.subarray(at)] : []
    bytesHeld = bytes.length - at
  }
}
