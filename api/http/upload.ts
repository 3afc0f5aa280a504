import { refuse } from '#core/foundation/errors.ts'

/** A form has a file and perhaps some words beside it; whoever sends more parts means no good. */
const PARTS_MAX = 20
/** Of one part: a name, a file name, a media type. */
const HEADER_BYTES_MAX = 8_192
/** RFC 2046, 5.1.1: 1 to 70 of these characters. */
const BOUNDARY = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i

/** One file that came with a form. The name is the sender's word, without folders. */
export interface Upload {
  fileName: string
  bytes: Buffer
}

/**
 * Reads the one file of a `multipart/form-data` body (RFC 7578); other fields are passed over. The bytes are views of `body`, not copies.
 * @param otherwise what is said where it is no form
 * @throws unsupported_media_type, invalid_request (no form, no file or several)
 */
export function readUpload(
  contentType: string | undefined,
  body: Buffer,
  otherwise = 'Send the file as a form: Content-Type multipart/form-data with one file in it.',
): Upload {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) refuse('unsupported_media_type', otherwise)
  const found = BOUNDARY.exec(contentType ?? '')
  const boundary = found?.[1] ?? found?.[2]
  if (boundary === undefined) refuse('invalid_request', 'The Content-Type names no boundary between the parts of the form.')
  const files = [...partsOf(body, boundary)].filter((part) => part.fileName !== null)
  const [file] = files
  if (!file) refuse('invalid_request', 'The form holds no file.')
  if (files.length > 1) refuse('invalid_request', `The form holds ${files.length} files; send one.`)
  return { fileName: file.fileName ?? '', bytes: file.bytes }
}

function* partsOf(body: Buffer, boundary: string): Generator<{ fileName: string | null; bytes: Buffer }> {
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  const nextMark = Buffer.from(`\r\n--${boundary}`, 'latin1')
  // Before the first mark a preamble may stand, which means nothing.
  let at = body.subarray(0, mark.length).equals(mark) ? mark.length : body.indexOf(nextMark) + nextMark.length
  if (at < mark.length) refuse('invalid_request', 'The form does not hold the boundary that its Content-Type names.')
  for (let count = 0; ; count++) {
    const after = body.toString('latin1', at, at + 2)
    if (after === '--') return
    if (count === PARTS_MAX) refuse('invalid_request', `The form has more than ${PARTS_MAX} parts.`)
    const end = body.indexOf(nextMark, at)
    if (after !== '\r\n' || end < 0) refuse('invalid_request', 'The form ends early, or its parts are not separated by its boundary.')
    yield readPart(body.subarray(at, end))
    at = end + nextMark.length
  }
}

/** @param part from the line break after the boundary on */
function readPart(part: Buffer): { fileName: string | null; bytes: Buffer } {
  const headEnd = part.subarray(0, HEADER_BYTES_MAX).indexOf('\r\n\r\n')
  if (headEnd < 0) refuse('invalid_request', 'A part of the form has no headers, or too many.')
  const head = part.toString('utf8', 0, headEnd)
  const line = head.split('\r\n').find((one) => /^content-disposition:/i.test(one))
  const disposition = /^content-disposition:\s*form-data\s*;(.*)$/i.exec(line ?? '')?.[1]
  if (disposition === undefined) refuse('invalid_request', 'A part of the form lacks its Content-Disposition.')
  return { fileName: readFileName(disposition), bytes: part.subarray(headEnd + 4) }
}

/** Each is tried at one place only, so that a head is read once however it is made. In quotes anything may stand, a semicolon too. */
const SEPARATORS = /[\s;]*/y
const PARAMETER_NAME = /([\w*-]+)=/y
const QUOTED_VALUE = /"([^"\\]*(?:\\.[^"\\]*)*)"(?=\s*(?:;|$))/y
const PLAIN_VALUE = /[^;\s]*(?=\s*(?:;|$))/y

/** The parameters of a header by their names in lower case; what is none is passed over. */
function parametersOf(text: string): Map<string, string> {
  const parameters = new Map<string, string>()
  const read = (pattern: RegExp, at: number): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  for (let at = 0; at < text.length; ) {
    read(SEPARATORS, at)
    let end = SEPARATORS.lastIndex
    const name = read(PARAMETER_NAME, end)
    if (name !== null) {
      end = PARAMETER_NAME.lastIndex
      const isQuoted = text[end] === '"'
      const value = read(isQuoted ? QUOTED_VALUE : PLAIN_VALUE, end)
      // A quote that does not end leaves nothing to read.
      if (isQuoted && value === null && text.indexOf('"', end + 1) < 0) break
      if (value !== null) {
        // Only the quote is unescaped: some send the backslashes of their folders as they are.
        parameters.set((name[1] as string).toLowerCase(), isQuoted ? (value[1] as string).replaceAll('\\"', '"') : value[0])
        end += value[0].length
      }
    }
    const next = text.indexOf(';', end)
    at = next < 0 ? text.length : next + 1
  }
  return parameters
}

/** The name of the file without the folders that some senders put before it; null when the part is no file. */
function readFileName(disposition: string): string | null {
  const parameters = parametersOf(disposition)
  // RFC 7578 forbids the extended form, and it is sent all the same, for names that others could not read.
  const name = readExtended(parameters.get('filename*')) ?? parameters.get('filename')
  return name?.replace(/^.*[/\\]/, '') ?? null
}

/** RFC 8187: `UTF-8''%C4%8Capek.jpg`. */
function readExtended(value: string | undefined): string | undefined {
  const encoded = value?.replace(/^[\w-]*'[\w-]*'/, '')
  try {
    return encoded && decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}
