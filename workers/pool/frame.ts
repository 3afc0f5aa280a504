import { bufferOf } from '#core/foundation/byte-view.ts'

/**
 * Messages between the server and a drawing child: two lengths, a header, and an opaque body.
 *
 *   u32 length of the header | u32 length of the body | header (JSON, UTF-8) | body
 */

const LENGTHS_BYTES = 8
/** A header contains a path, some numbers and at most one problem message. */
const HEADER_BYTES_MAX = 64 * 1024
/** A drawn page: 5,000 × 5,000 pixels of noise as JPEG have 20 MB. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

const NOTHING = Buffer.alloc(0)

/** @throws RangeError for a header beyond {@link HEADER_BYTES_MAX} or a body beyond `bodyBytesMax` */
export function frameOf(header: object, body: Uint8Array = NOTHING, bodyBytesMax = BODY_BYTES_MAX): Buffer[] {
  const head = Buffer.from(JSON.stringify(header))
  checkLengths(head.length, body.length, bodyBytesMax)
  const lengths = Buffer.allocUnsafe(LENGTHS_BYTES)
  lengths.writeUInt32LE(head.length, 0)
  lengths.writeUInt32LE(body.length, 4)
  return [lengths, head, bufferOf(body)]
}

/**
 * Reassembles frames from chunks of any size. A body has its own memory, which can be transferred to another thread.
 * The returned function throws at the first bytes that are not a frame: the other side cannot be trusted after that.
 */
export function createFrameReader(
  onFrame: (header: unknown, body: Uint8Array<ArrayBuffer>) => void,
  bodyBytesMax = BODY_BYTES_MAX,
): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let bytesHeld = 0
  let needed = LENGTHS_BYTES

  /** Handles the whole frames in `bytes` and returns the rest. */
  function takeFrames(bytes: Buffer): Buffer {
    let rest = bytes
    while (rest.length >= LENGTHS_BYTES) {
      const headBytes = rest.readUInt32LE(0)
      const bodyBytes = rest.readUInt32LE(4)
      checkLengths(headBytes, bodyBytes, bodyBytesMax)
      needed = LENGTHS_BYTES + headBytes + bodyBytes
      if (rest.length < needed) return rest
      const bodyAt = LENGTHS_BYTES + headBytes
      const header: unknown = JSON.parse(rest.toString('utf8', LENGTHS_BYTES, bodyAt))
      const body = Uint8Array.from(rest.subarray(bodyAt, needed))
      rest = rest.subarray(needed)
      needed = LENGTHS_BYTES
      onFrame(header, body)
    }
    return rest
  }

  return (chunk) => {
    chunks.push(chunk)
    bytesHeld += chunk.length
    if (bytesHeld < needed) return
    const rest = takeFrames(chunks.length === 1 ? chunk : Buffer.concat(chunks))
    chunks = rest.length > 0 ? [rest] : []
    bytesHeld = rest.length
  }
}

function checkLengths(headBytes: number, bodyBytes: number, bodyBytesMax: number): void {
  if (headBytes <= HEADER_BYTES_MAX && bodyBytes <= bodyBytesMax) return
  throw new RangeError(`A frame of ${headBytes} and ${bodyBytes} bytes is too large.`)
}
