/** What stands in the place of a secret in what a service answered. */
export const INSTEAD = '[credential]'

/** Shorter ones are words that stand in answers anyway. */
const SECRET_LENGTH_MIN = 8
/** A part of a secret this long is masked too: so much of it is said by nobody by chance, and what is left is no use. */
const PART_LENGTH_MIN = 16
/** Texts are looked through for pieces of this length; parts of twice that hold one wherever they begin. */
const PIECE = 8
/** Layers of encoding that are taken off one after the other, as of JSON within JSON. */
const LAYERS_MAX = 2
/** Characters between two pauses: some milliseconds of this thread. */
const PAUSE_EVERY = 256 * 1024
/** What looking at one piece costs, in characters that are only passed. */
const PIECE_COST = 100

/** One way in which a secret may be written. */
interface Form {
  codes: Uint16Array
  /** Of the shortest run of it that is masked. */
  lengthMin: number
  /** What belongs to a run of it at either end, as the digit of base64 that it shares with what stands beside. */
  isBase64: boolean
}

/** Ways to write the secrets of one credential, and where each piece of them stands. */
export interface Forms {
  pieces: Map<string, { form: Form; at: number }[]>
  /** Says of most hashes that no piece has them. */
  known: Uint8Array
}

/** Of one piece in one form, which repeats itself then. */
const PLACES_MAX = 4
const HASH_BITS = 20
const FACTOR = 31
const FACTOR_OF_FIRST = (FACTOR ** (PIECE - 1)) | 0
const slotOf = (hash: number): number => Math.imul(hash, 0x9e3779b1) >>> (32 - HASH_BITS)

function codesOf(text: string): Uint16Array {
  const bytes = Buffer.allocUnsafeSlow(text.length * 2)
  bytes.write(text, 'utf16le')
  return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length)
}

/** The digits of base64 that a secret has whatever stands before and behind it, for each place at which it may begin among three bytes. */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].map((shift) => {
    const digits = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return digits.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
  })
}

/** The secrets in the value of a header: all of it, what stands behind its scheme, and what that is packed of. */
function secretsOf(value: string): { text: string; isWhole: boolean }[] {
  const last = value.slice(value.lastIndexOf(' ') + 1)
  const found = [
    { text: value, isWhole: value !== last },
    // The first part of a signed token says only how it is signed, and is the same in many.
    { text: last, isWhole: false },
    { text: last.replace(/^eyJ[\w-]{8,}\./, ''), isWhole: false },
  ]
  if (/^basic /i.test(value)) {
    const pair = Buffer.from(last, 'base64').toString('utf8')
    // A name may be said; it is no secret.
    found.push({ text: pair, isWhole: true }, { text: pair.slice(pair.indexOf(':') + 1), isWhole: false })
  }
  return found.filter(({ text }) => text.length >= SECRET_LENGTH_MIN)
}

/**
 * @param value as it stands in a request, which holds a secret
 * @param wholes what is masked as a whole alone, as `name=value`
 */
export function formsOf(value: string, wholes: readonly string[] = []): Forms {
  const forms: Form[] = []
  const add = (text: string, isWhole: boolean, isBase64 = false) => {
    if (text.length < PIECE) return
    forms.push({ codes: codesOf(text), lengthMin: isWhole ? text.length : Math.min(PART_LENGTH_MIN, text.length), isBase64 })
  }
  const secrets = [...secretsOf(value), ...wholes.map((text) => ({ text, isWhole: true }))]
  for (const { text, isWhole } of secrets) {
    // A space in a form or in the query of an address.
    if (text.includes(' ')) add(text.replaceAll(' ', '+'), isWhole)
    add(text, isWhole || /^eyJ[\w-]{8,}\./.test(text))
    const hex = Buffer.from(text).toString('hex')
    for (const one of [hex, hex.toUpperCase()]) add(one, isWhole)
    for (const digits of base64Of(text)) {
      add(digits, isWhole, true)
      if (/[+/]/.test(digits)) add(digits.replaceAll('+', '-').replaceAll('/', '_'), isWhole, true)
    }
  }
  const pieces: Forms['pieces'] = new Map()
  const known = new Uint8Array(1 << HASH_BITS)
  for (const form of forms) {
    // What is masked as a whole alone has its first piece in any case.
    const last = form.lengthMin === form.codes.length ? 0 : form.codes.length - PIECE
    for (let at = 0; at <= last; at += PIECE) {
      const piece = String.fromCharCode(...form.codes.subarray(at, at + PIECE))
      let hash = 0
      for (let place = 0; place < PIECE; place++) hash = (Math.imul(hash, FACTOR) + (form.codes[at + place] as number)) | 0
      known[slotOf(hash)] = 1
      const places = pieces.get(piece)
      // What repeats itself is found by any of its pieces.
      if (places === undefined) pieces.set(piece, [{ form, at }])
      else if (places.filter((place) => place.form === form).length < PLACES_MAX) places.push({ form, at })
    }
  }
  return { pieces, known }
}

/** A text as somebody reads it who takes off one layer of encoding, and where each of its characters comes from. */
interface View {
  codes: Uint16Array
  /** For each character where it begins in the text, and at the end where that ends; null where it is the text. */
  origins: Uint32Array | null
}

const ENCODED = /[\\%&\0]/
const JSON_LETTERS: Readonly<Record<string, number>> = { b: 8, f: 12, n: 10, r: 13, t: 9, '"': 34, '\\': 92, '/': 47 }
const ENTITIES: Readonly<Record<string, number>> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }
const JSON_CODE = /\\u([0-9a-f]{4})/iy
const PERCENT = /%([0-9a-f]{2})/iy
const ENTITY = /&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|lt|gt|quot|apos));/iy

/** One encoded character. @returns its code and how many characters it takes; null where none begins here */
function decodeAt(text: string, at: number): { code: number; length: number } | null {
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  const first = text.charCodeAt(at)
  if (first === 0x5c) {
    const letter = JSON_LETTERS[text.charAt(at + 1)]
    if (letter !== undefined) return { code: letter, length: 2 }
    const found = match(JSON_CODE)
    return found === null ? null : { code: Number.parseInt(found[1] as string, 16), length: 6 }
  }
  if (first === 0x25) {
    const found = match(PERCENT)
    return found === null ? null : { code: Number.parseInt(found[1] as string, 16), length: 3 }
  }
  const found = match(ENTITY)
  if (found === null) return null
  const [{ length }, decimal, hex, name] = found
  const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : (ENTITIES[(name as string).toLowerCase()] as number)
  return { code, length }
}

/** Takes off one layer; null where there is none. NUL is left out: texts of two bytes a character have it between all. */
function* decode(text: string, before: View): Generator<undefined, { text: string; view: View } | null> {
  if (!ENCODED.test(text)) return null
  const codes = new Uint16Array(text.length)
  const origins = new Uint32Array(text.length + 1)
  let length = 0
  let lastPause = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    const found = code === 0x5c || code === 0x25 || code === 0x26 ? decodeAt(text, at) : null
    if (code !== 0) {
      origins[length] = before.origins?.[at] ?? at
      codes[length] = found?.code ?? code
      length += 1
    }
    at += found?.length ?? 1
    if (at - lastPause > PAUSE_EVERY) {
      lastPause = at
      yield
    }
  }
  origins[length] = before.origins?.[text.length] ?? text.length
  if (length === text.length) return null
  const view = { codes: codes.subarray(0, length), origins: origins.subarray(0, length + 1) }
  return { text: textOf(view.codes), view }
}

const textOf = (codes: Uint16Array): string => Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength).toString('utf16le')

type Range = [from: number, to: number]

const isBase64Digit = (code: number | undefined): boolean => code !== undefined && /[\w+/-]/.test(String.fromCharCode(code))
const EQUALS = 0x3d

/** The whole run of a form around a piece of it; null where it is too short to be masked. */
function runAround(codes: Uint16Array, at: number, { form, at: place }: { form: Form; at: number }): Range | null {
  let [from, to] = [0, PIECE]
  while (from < place && from < at && codes[at - from - 1] === form.codes[place - from - 1]) from += 1
  while (place + to < form.codes.length && at + to < codes.length && codes[at + to] === form.codes[place + to]) to += 1
  if (from + to < form.lengthMin) return null
  const run: Range = [at - from, at + to]
  if (!form.isBase64) return run
  if (isBase64Digit(codes[run[0] - 1])) run[0] -= 1
  if (isBase64Digit(codes[run[1]])) run[1] += 1
  for (let padding = 0; padding < 2 && codes[run[1]] === EQUALS; padding++) run[1] += 1
  return run
}

/** Where a view holds what is to be masked. Each character is looked at once, but for those of runs. */
function* findRuns({ codes, origins }: View, { pieces, known }: Forms): Generator<undefined, Range[]> {
  const found: Range[] = []
  let hash = 0
  let work = 0
  for (let end = 0; end < codes.length; end++) {
    if (end >= PIECE) hash = (hash - Math.imul(FACTOR_OF_FIRST, codes[end - PIECE] as number)) | 0
    hash = (Math.imul(hash, FACTOR) + (codes[end] as number)) | 0
    work += 1
    if (work > PAUSE_EVERY) {
      work = 0
      yield
    }
    if (end < PIECE - 1 || known[slotOf(hash)] === 0) continue
    const at = end - PIECE + 1
    const last = found.at(-1)
    // Within what is masked already.
    if (last !== undefined && (origins?.[end + 1] ?? end + 1) <= last[1]) continue
    work += PIECE_COST
    for (const place of pieces.get(String.fromCharCode(...codes.subarray(at, end + 1))) ?? []) {
      const run = runAround(codes, at, place)
      if (run !== null) found.push([origins?.[run[0]] ?? run[0], origins?.[run[1]] ?? run[1]])
    }
  }
  return found
}

/** Masks secrets however they are written: as they are, as a part, escaped, in base64 or hex. Yields wherever others may have the thread. */
export function* masking(text: string, forms: Forms): Generator<undefined, string> {
  const ranges: Range[] = []
  let layer: { text: string; view: View } | null = { text, view: { codes: codesOf(text), origins: null } }
  for (let layers = 0; layer !== null && layers <= LAYERS_MAX; layers++) {
    ranges.push(...(yield* findRuns(layer.view, forms)))
    layer = yield* decode(layer.text, layer.view)
  }
  if (ranges.length === 0) return text
  let told = ''
  let from = 0
  for (const [start, end] of ranges.sort(([a], [b]) => a - b)) {
    // Found in several forms or layers.
    if (end <= from) continue
    if (start >= from) told += text.slice(from, start) + INSTEAD
    from = end
  }
  return told + text.slice(from)
}
