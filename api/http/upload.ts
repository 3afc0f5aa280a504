import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import busboy from 'busboy'
import type { FormFile, Upload } from '#api/http/endpoint.ts'
import { refuse } from '#core/foundation/errors.ts'

/** A form has one file and perhaps some fields; more parts are an attack. */
const PARTS_MAX = 20
/** RFC 2046, 5.1.1, allows 70 characters; with a longer boundary the parser slows down disproportionately. */
const LONG_BOUNDARY = /boundary="?[^";\s]{71}/i

/** The parser reads 3 ns a byte: a body of 21 MB at once would block the server for 70 ms. */
const PIECE_BYTES = 2 * 1024 * 1024

/** Fields beside a file are flags and short names. */
const FIELD_BYTES_MAX = 1_000

/**
 * Reads the one file of a `multipart/form-data` body (RFC 7578), and its other fields; of equal names the first counts.
 * @param otherwise the error if the body is not a form
 * @throws unsupported_media_type, invalid_request (no form, no file or several)
 */
export async function readUpload(
  contentType: string | undefined,
  body: Buffer,
  otherwise = 'Send the file as a form: Content-Type multipart/form-data with one file in it.',
): Promise<Upload> {
  if (contentType === undefined || !/^multipart\/form-data\s*(;|$)/i.test(contentType)) refuse('unsupported_media_type', otherwise)
  const { files, fields } = await readParts(newParser(contentType), body)
  const [file] = files
  if (!file) refuse('invalid_request', 'The form has no file.')
  if (files.length > 1) refuse('invalid_request', `The form has ${files.length} files; send one.`)
  return { ...file, fields }
}

function newParser(contentType: string): busboy.Busboy {
  if (LONG_BOUNDARY.test(contentType)) refuse('invalid_request', 'The boundary in the Content-Type is longer than 70 characters.')
  try {
    // The parser reports the limit only at the end of that part.
    return busboy({
      headers: { 'content-type': contentType },
      limits: { parts: PARTS_MAX + 1, fieldSize: FIELD_BYTES_MAX },
      defParamCharset: 'utf8',
    })
  } catch {
    return refuse('invalid_request', 'The Content-Type has no boundary between the parts of the form.')
  }
}

async function readParts(parser: busboy.Busboy, body: Buffer): Promise<{ files: FormFile[]; fields: Map<string, string> }> {
  const files: FormFile[] = []
  const fields = new Map<string, string>()
  parser.on('field', (name, value) => void (fields.has(name) || fields.set(name, value)))
  parser.on('file', (_field, stream, { filename = '' }) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => files.push({ fileName: filename, bytes: contentOf(chunks, body) }))
    // The parser reports the same error.
    stream.on('error', () => {})
  })
  let hasTooMany = false
  parser.on('partsLimit', () => {
    hasTooMany = true
  })
  // It may report more than one error; the first one counts.
  parser.on('error', () => {})
  const closed = once(parser, 'close').then(
    () => null,
    (error: Error) => error,
  )
  await writeInTurns(parser, body)
  const error = await closed
  if (error?.message === 'Malformed part header') refuse('invalid_request', 'A part of the form has no headers or too many.')
  if (error !== null) refuse('invalid_request', 'The form is incomplete, or its boundary does not separate its parts.')
  if (hasTooMany) refuse('invalid_request', `The form has more than ${PARTS_MAX} parts.`)
  return { files, fields }
}

/** The content of a part, which is contiguous in the body: a large one is a view, because another copy of 21 MB takes 10 ms. */
function contentOf(chunks: readonly Buffer[], body: Buffer): Buffer {
  const [first] = chunks
  // Small bodies share their memory with others; the parser copies the bytes around the ends of its pieces.
  if (body.length < PIECE_BYTES || first?.buffer !== body.buffer) return Buffer.concat(chunks)
  const start = first.byteOffset - body.byteOffset
  return body.subarray(start, start + chunks.reduce((length, chunk) => length + chunk.length, 0))
}

/** Writes the whole body, with turns of the event loop between its pieces, unless the parser gives up before. */
async function writeInTurns(parser: busboy.Busboy, body: Buffer): Promise<void> {
  let at = 0
  for (; body.length - at > PIECE_BYTES && !parser.destroyed; at += PIECE_BYTES) {
    parser.write(body.subarray(at, at + PIECE_BYTES))
    await nextTurn()
  }
  if (!parser.destroyed) parser.end(body.subarray(at))
}
