// @ts-check
/**
 * Messages between the server and a runner: two lengths, a header that the receiver parses, and an opaque body.
 *
 *   u32 length of the header | u32 length of the body | header (JSON, UTF-8) | body (UTF-8)
 *
 * Plain JavaScript, like this whole folder: stripping types doubles the start time of a runner and takes 20 MB more.
 */

const LENGTHS_BYTES = 8
const LENGTHS = 0
const HEADER = 1
const BODY = 2
const UNWANTED = 3
/** Headers contain names, ids and numbers, the limits of an isolate, and messages of 4,096 characters, each of which JSON may escape with six. */
export const HEADER_BYTES_MAX = 32 * 1024
/** The largest argument of a call is 8 MB of text, in which some letters may need two more bytes. */
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
  if (headBytes > HEADER_BYTES_MAX) throw new RangeError(`A header of ${headBytes} bytes exceeds the ${HEADER_BYTES_MAX} of a frame.`)
  if (bodyBytes > BODY_BYTES_MAX) throw new RangeError(`A body of ${bodyBytes} bytes exceeds the ${BODY_BYTES_MAX} of a frame.`)
  const frame = Buffer.allocUnsafe(LENGTHS_BYTES + headBytes + bodyBytes)
  frame.writeUInt32LE(headBytes, 0)
  frame.writeUInt32LE(bodyBytes, 4)
  frame.write(head, LENGTHS_BYTES, 'utf8')
  if (bodyBytes > 0) frame.write(body, LENGTHS_BYTES + headBytes, 'utf8')
  return frame
}

/**
 * Reassembles frames from chunks of any size. The returned function throws at the first byte that is not a frame: the other side cannot be
 * trusted after that.
 * @param {(header: unknown, body: string) => void} onFrame
 * @param {(header: unknown, bodyBytes: number, headerBytes: number) => boolean} [isWanted] called before the body is read; an unwanted body is skipped as it
 *   arrives, and its frame is reported with an empty one. Throws to stop reading
 * @param {number} [headerBytesMax]
 * @returns {(chunk: Buffer) => void}
 */
export function createFrameReader(onFrame, isWanted = () => true, headerBytesMax = HEADER_BYTES_MAX) {
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
      if (needed > headerBytesMax || bodyBytes > BODY_BYTES_MAX)
        throw new RangeError(`A frame of ${needed} and ${bodyBytes} bytes is too large.`)
      part = HEADER
    } else if (part === HEADER) {
      const headerBytes = needed
      header = JSON.parse(bytes.toString('utf8', from, from + headerBytes))
      needed = bodyBytes
      part = isWanted(header, bodyBytes, headerBytes) ? BODY : UNWANTED
    } else {
      const body = part === BODY ? bytes.toString('utf8', from, from + needed) : ''
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
