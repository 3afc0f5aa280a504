/** Replaces a secret in the response of a service. */
const INSTEAD = '[credential]'

/** Shorter ones are words that occur in responses anyway. */
const SECRET_LENGTH_MIN = 8
/**
 * A secret is split into blocks of this many bytes, the last one longer, and each is masked as a whole or not at all. If parts of any length were
 * masked, a plugin whose service echoes its requests could learn the secret character by character: it guesses one more, and sees whether that is
 * masked too. One block reveals nothing about the next, so all forms of a secret are split at the same bytes.
 */
const BLOCK_BYTES = 16
/** Texts are searched for the first characters of a block. */
const PIECE = 8
/** Layers of encoding that are decoded one after another, as for JSON within JSON. */
const LAYERS_MAX = 2
/** Characters between two pauses: some milliseconds of this thread. */
const PAUSE_EVERY = 256 * 1024
/** The cost of comparing one piece, in characters that are only scanned. */
const PIECE_COST = 100

/** One encoding of a secret. */
interface Form {
  codes: Uint16Array
  blocks: readonly Block[]
  /** Whether the block shares base64 digits with its neighbors. */
  isBase64: boolean
}

type Block = readonly [from: number, to: number]

/** The encodings of the secrets of one credential, indexed by the first characters of their blocks. */
export interface Forms {
  pieces: Map<string, { form: Form; block: number }[]>
  /** A filter that rules out most hashes. */
  known: Uint8Array
}

/** Blocks that begin with the same piece, which then repeats itself. */
const PLACES_MAX = 4
const HASH_BITS = 20
const FACTOR = 31
const FACTOR_OF_FIRST = (FACTOR ** (PIECE - 1)) | 0
const slotOf = (hash: number): number => Math.imul(hash, 0x9e3779b1) >>> (32 - HASH_BITS)

/** Lower-cases the text: a service may write hexadecimal digits in either case. */
function codesOf(text: string): Uint16Array {
  const bytes = Buffer.allocUnsafeSlow(text.length * 2)
  bytes.write(text, 'utf16le')
  const codes = new Uint16Array(bytes.buffer, bytes.byteOffset, text.length)
  for (let at = 0; at < codes.length; at++) codes[at] = small(codes[at] as number)
  return codes
}

const small = (code: number): number => (code >= 65 && code <= 90 ? code + 32 : code)

/** The base64 digits of a secret that do not depend on its surroundings, for each of the three alignments. */
function base64Of(bytes: Buffer): { digits: string; shift: number; first: number }[] {
  return [0, 1, 2].map((shift) => {
    const digits = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    const first = Math.ceil((shift * 8) / 6)
    return { digits: digits.slice(first, Math.floor(((shift + bytes.length) * 8) / 6)), shift, first }
  })
}

/** A text to mask, and whether only as a whole. */
interface Secret {
  text: string
  isWhole: boolean
}

/** The first part of a signed token contains only the algorithm, and is the same in many tokens. */
const SIGNED = /^eyJ[\w-]{8,}\./

/** The secrets in a header value without further information: the whole value, the part after its scheme, and the decoded part. */
function secretsOf(value: string): Secret[] {
  const last = value.slice(value.lastIndexOf(' ') + 1)
  const found = [
    { text: value, isWhole: value !== last },
    { text: last, isWhole: false },
  ]
  if (/^basic /i.test(value)) {
    const pair = Buffer.from(last, 'base64').toString('utf8')
    // The user name is not a secret.
    found.push({ text: pair, isWhole: true }, { text: pair.slice(pair.indexOf(':') + 1), isWhole: false })
  }
  return found
}

/** As decoded by services that read the bytes of a header or a URL in the wrong charset. */
const spellingsOf = (text: string): string[] =>
  /[^\0-\x7f]/.test(text) ? [text, Buffer.from(text, 'utf8').toString('latin1'), Buffer.from(text, 'latin1').toString('utf8')] : [text]

/** The start of each block of a secret of so many bytes, and its end. */
function cutsOf(bytes: number, isWhole: boolean): number[] {
  const count = isWhole ? 1 : Math.max(1, Math.floor(bytes / BLOCK_BYTES))
  return [...Array.from({ length: count }, (_, index) => index * BLOCK_BYTES), bytes]
}

/**
 * @param value as in the request, containing a secret
 * @param wholes texts to mask only as a whole, such as `name=value`
 * @param known the secrets in the value; by default they are searched for
 */
export function formsOf(value: string, wholes: readonly string[] = [], known?: readonly string[]): Forms {
  const forms: Form[] = []
  const secrets: Secret[] = [
    ...(known === undefined
      ? secretsOf(value)
      : [{ text: value, isWhole: !known.includes(value) }, ...known.map((text) => ({ text, isWhole: false }))]),
  ].filter(({ text }) => text.length >= SECRET_LENGTH_MIN)
  for (const { text } of [...secrets]) if (SIGNED.test(text)) secrets.push({ text: text.replace(SIGNED, ''), isWhole: false })
  for (const text of wholes) secrets.push({ text, isWhole: true })
  for (const { text, isWhole } of secrets) addForms(forms, text, isWhole || SIGNED.test(text))
  return tableOf(forms)
}

function addForms(forms: Form[], text: string, isWhole: boolean): void {
  const add = (written: string, blocks: Block[], isBase64 = false) => {
    if (written.length >= PIECE) forms.push({ codes: codesOf(written), blocks, isBase64 })
  }
  const blocksOf = (length: number, placeOf: (byte: number, isEnd: boolean) => number): Block[] => {
    const cuts = cutsOf(length, isWhole)
    const blocks = cuts.slice(1).map((end, index): Block => [placeOf(cuts[index] as number, false), placeOf(end, true)])
    return blocks
  }
  for (const spelled of spellingsOf(text)) {
    const plain = blocksOf(spelled.length, (byte) => byte)
    add(spelled, plain)
    // A space in a form or in a query.
    if (spelled.includes(' ')) add(spelled.replaceAll(' ', '+'), plain)
  }
  for (const encoding of /[^\0-\x7f]/.test(text) ? (['utf8', 'latin1'] as const) : (['utf8'] as const)) {
    const bytes = Buffer.from(text, encoding)
    add(
      bytes.toString('hex'),
      blocksOf(bytes.length, (byte) => byte * 2),
    )
    for (const { digits, shift, first } of base64Of(bytes)) {
      // Digits that two blocks share belong to neither.
      const placeOf = (byte: number, isEnd: boolean) => {
        const digit = ((byte + shift) * 8) / 6 - first
        return Math.min(Math.max(isEnd ? Math.floor(digit) : Math.ceil(digit), 0), digits.length)
      }
      const blocks = blocksOf(bytes.length, placeOf)
      add(digits, blocks, true)
      if (/[+/]/.test(digits)) add(digits.replaceAll('+', '-').replaceAll('/', '_'), blocks, true)
    }
  }
}

function tableOf(forms: readonly Form[]): Forms {
  const pieces: Forms['pieces'] = new Map()
  const known = new Uint8Array(1 << HASH_BITS)
  for (const form of forms)
    for (const [block, [at]] of form.blocks.entries()) {
      const piece = String.fromCharCode(...form.codes.subarray(at, at + PIECE))
      let hash = 0
      for (let place = 0; place < PIECE; place++) hash = (Math.imul(hash, FACTOR) + (form.codes[at + place] as number)) | 0
      known[slotOf(hash)] = 1
      const places = pieces.get(piece)
      // A repeating secret is found by any of its pieces.
      if (places === undefined) pieces.set(piece, [{ form, block }])
      else if (places.filter((place) => place.form === form).length < PLACES_MAX) places.push({ form, block })
    }
  return { pieces, known }
}

/** A text after decoding one layer, with the origin of each character. */
interface View {
  codes: Uint16Array
  /** The start of each character in the text, and the end; null for the text itself. */
  origins: Uint32Array | null
}

const ENCODED = /[\\%&\0]/
const JSON_LETTERS: Readonly<Record<string, number>> = { b: 8, f: 12, n: 10, r: 13, t: 9, '"': 34, '\\': 92, '/': 47 }
const ENTITIES: Readonly<Record<string, number>> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }
const JSON_CODE = /\\u([0-9a-f]{4})/iy
const PERCENT = /%([0-9a-f]{2})/iy
const ENTITY = /&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|lt|gt|quot|apos));/iy

/** Decodes one escape. @returns its code and length; null when there is none at this position */
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

/** Decodes one layer; null when there is none. Skips NUL, which is between all characters of UTF-16 text. */
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
      codes[length] = small(found?.code ?? code)
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

/** The consecutive blocks of a form at this position; null when there is none. */
function runFrom(codes: Uint16Array, at: number, { form, block }: { form: Form; block: number }): Range | null {
  const start = form.blocks[block]?.[0] as number
  let end = start
  for (let index = block; index < form.blocks.length; index++) {
    const [from, to] = form.blocks[index] as Block
    let place = from
    while (place < to && codes[at + place - start] === form.codes[place]) place += 1
    if (place < to) break
    end = to
  }
  if (end === start) return null
  const run: Range = [at, at + end - start]
  if (!form.isBase64) return run
  if (isBase64Digit(codes[run[0] - 1])) run[0] -= 1
  if (isBase64Digit(codes[run[1]])) run[1] += 1
  for (let padding = 0; padding < 2 && codes[run[1]] === EQUALS; padding++) run[1] += 1
  return run
}

/** The ranges of a view to mask. Each character is read once, except in runs. */
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
    // Already inside a masked range.
    if (last !== undefined && (origins?.[end + 1] ?? end + 1) <= last[1]) continue
    work += PIECE_COST
    for (const place of pieces.get(String.fromCharCode(...codes.subarray(at, end + 1))) ?? []) {
      const run = runFrom(codes, at, place)
      if (run !== null) found.push([origins?.[run[0]] ?? run[0], origins?.[run[1]] ?? run[1]])
    }
  }
  return found
}

/** Masks secrets in any encoding: plain, in blocks, escaped, in upper case, in base64 or hex. Yields to let others use the thread. */
export function* masking(text: string, forms: Forms): Generator<undefined, string> {
  const ranges: Range[] = []
  let layer: { text: string; view: View } | null = { text, view: { codes: codesOf(text), origins: null } }
  for (let layers = 0; layer !== null && layers <= LAYERS_MAX; layers++) {
    ranges.push(...(yield* findRuns(layer.view, forms)))
    layer = yield* decode(layer.text, layer.view)
  }
  if (ranges.length === 0) return text
  let output = ''
  let from = 0
  for (const [start, end] of ranges.sort(([a], [b]) => a - b)) {
    // Found in several forms or layers.
    if (end <= from) continue
    if (start >= from) output += text.slice(from, start) + INSTEAD
    from = end
  }
  return output + text.slice(from)
}
