/** Replaces a secret in the response of a service. */
const INSTEAD = '[credential]'
/** Shorter ones are words that occur in responses anyway. Spellings are also searched for by so many of their first characters. */
const SECRET_LENGTH_MIN = 8
/** Characters compared, or escapes decoded, between two pauses: some milliseconds of this thread. */
const COMPARED_MAX = 1024 * 1024
const DECODED_MAX = 16 * 1024

/** A secret as it may stand in a text, in lower case: a service may write hexadecimal digits in either. */
interface Spelling {
  text: string
  /** Whether its first and last byte may share digits with the bytes beside them. */
  isBase64: boolean
}

/** The spellings of the secrets of one credential. */
export interface Spellings {
  /** By their first characters. */
  byStart: ReadonlyMap<string, readonly Spelling[]>
  starts: RegExp
  /** Characters of all. */
  length: number
}

/** The same for every occurrence and of the same length: the lower case of two letters is longer, or depends on those beside them. */
const lower = (text: string): string => text.replaceAll('\u0130', 'i').replaceAll('\u03a3', '\u03c3').toLowerCase()

/** The secrets in a header value without further information: the whole value, the part after its scheme, and the decoded part. */
function secretsOf(value: string): string[] {
  const last = value.slice(value.lastIndexOf(' ') + 1)
  if (!/^basic /i.test(value)) return [value, last]
  const pair = Buffer.from(last, 'base64').toString('utf8')
  // The user name is not a secret.
  return [value, last, pair, pair.slice(pair.indexOf(':') + 1)]
}

/** The base64 digits of a secret that do not depend on its surroundings, for each of the three alignments. */
const base64Of = (bytes: Buffer): string[] =>
  [0, 1, 2].map((shift) => {
    const digits = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return digits.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
  })

/** As written by services; a service may also have read the bytes of a header or a URL in the wrong charset. */
function spellingsOf(secret: string): Spelling[] {
  const isAscii = /^[\0-\x7f]*$/.test(secret)
  const plain = isAscii
    ? [secret]
    : [secret, Buffer.from(secret, 'utf8').toString('latin1'), Buffer.from(secret, 'latin1').toString('utf8')]
  const bytes = isAscii ? [Buffer.from(secret)] : [Buffer.from(secret, 'utf8'), Buffer.from(secret, 'latin1')]
  const base64 = bytes.flatMap(base64Of).flatMap((digits) => [digits, digits.replaceAll('+', '-').replaceAll('/', '_')])
  // A plus sign is a space in a form or in a query.
  const others = [...plain, ...plain.map((text) => text.replaceAll(' ', '+')), ...bytes.map((part) => part.toString('hex'))]
  return [...others.map((text) => ({ text, isBase64: false })), ...base64.map((text) => ({ text, isBase64: true }))]
}

/**
 * @param value as in the request, containing a secret
 * @param wholes other texts that contain it, such as `name=value`; they may contain a short one
 * @param known the secrets in the value; by default they are searched for
 */
export function credentialSpellings(value: string, wholes: readonly string[] = [], known?: readonly string[]): Spellings {
  const secrets = (known ? [value, ...known] : secretsOf(value)).filter(({ length }) => length >= SECRET_LENGTH_MIN)
  const byText = new Map<string, Spelling>()
  for (const { text, isBase64 } of [...secrets, ...wholes].flatMap(spellingsOf))
    if (text.length >= SECRET_LENGTH_MIN && !byText.has(lower(text))) byText.set(lower(text), { text: lower(text), isBase64 })
  // The longest of several at one place is masked.
  const sorted = [...byText.values()].sort((a, b) => b.text.length - a.text.length)
  const byStart = Map.groupBy(sorted, ({ text }) => text.slice(0, SECRET_LENGTH_MIN))
  const starts = [...byStart.keys()].map((start) => start.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return { byStart, starts: new RegExp(starts.join('|'), 'g'), length: sorted.reduce((sum, { text }) => sum + text.length, 0) }
}

/** The escapes of JSON and of URLs, each of which stands for one character, or one byte of several. */
const JSON_ESCAPE = /\\(?:u[0-9a-f]{4}|.)/gi
const PERCENT_ESCAPE = /%[0-9a-f]{2}/gi
const JSON_LETTERS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function characterOf(written: string): string {
  if (written.length === 2) return JSON_LETTERS[written[1] as string] ?? (written[1] as string)
  return String.fromCharCode(Number.parseInt(written.replace(/^%|^\\u/i, ''), 16))
}

/** A text after decoding its escapes. */
interface View {
  text: string
  /** The place in the text before of a place in this one. */
  placeOf: (at: number) => number
}

function* decode(text: string, escapes: RegExp): Generator<undefined, View> {
  /** The place after each escape in the decoded text, and how many characters were removed up to there. */
  const places: number[] = []
  const removed: number[] = []
  const parts: string[] = []
  let [end, gone] = [0, 0]
  for (const { 0: written, index } of text.matchAll(escapes)) {
    parts.push(text.slice(end, index), characterOf(written))
    end = index + written.length
    gone += written.length - 1
    places.push(end - gone)
    removed.push(gone)
    if (places.length % DECODED_MAX === 0) yield
  }
  parts.push(text.slice(end))
  const placeOf = (at: number) => {
    let [low, high] = [0, places.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((places[middle] as number) <= at) low = middle + 1
      else high = middle
    }
    return at + (removed[low - 1] ?? 0)
  }
  return { text: lower(parts.join('')), placeOf }
}

type Range = [from: number, to: number]

const isBase64Digit = (character: string | undefined): boolean => character !== undefined && /[\w+/-]/.test(character)

/** The ranges of a view to mask, as places of the text before. */
function* findSpellings({ text, placeOf }: View, { byStart, starts }: Spellings): Generator<undefined, Range[]> {
  const found: Range[] = []
  // A text is searched while others are, so each search has its own place.
  const search = new RegExp(starts)
  let compared = 0
  for (let match = search.exec(text); match !== null; match = search.exec(text)) {
    const spellings = byStart.get(match[0]) ?? []
    const at = match.index
    const spelling = spellings.find((one) => text.slice(at, at + one.text.length) === one.text)
    compared += spellings.reduce((sum, one) => sum + one.text.length, 0)
    if (compared > COMPARED_MAX) {
      compared = 0
      yield
    }
    let [from, to] = [at, at + (spelling?.text.length ?? 1)]
    search.lastIndex = to
    if (spelling === undefined) continue
    if (spelling.isBase64) {
      if (isBase64Digit(text[from - 1])) from -= 1
      if (isBase64Digit(text[to])) to += 1
      for (let padding = 0; padding < 2 && text[to] === '='; padding++) to += 1
    }
    found.push([placeOf(from), placeOf(to)])
  }
  return found
}

/** Masks secrets that stand in the text as a whole: as they are, as in JSON or a URL, in base64 or hex. Yields to let others use the thread. */
export function* masking(text: string, spellings: Spellings): Generator<undefined, string> {
  if (spellings.byStart.size === 0) return text
  const small = lower(text)
  const ranges = yield* findSpellings({ text: small, placeOf: (at) => at }, spellings)
  if (text.includes('\\')) ranges.push(...(yield* findSpellings(yield* decode(small, JSON_ESCAPE), spellings)))
  if (text.includes('%')) ranges.push(...(yield* findSpellings(yield* decode(small, PERCENT_ESCAPE), spellings)))
  if (ranges.length === 0) return text
  let output = ''
  let from = 0
  for (const [start, end] of ranges.sort(([a], [b]) => a - b)) {
    // Found in several spellings.
    if (end <= from) continue
    if (start >= from) output += text.slice(from, start) + INSTEAD
    from = end
  }
  return output + text.slice(from)
}
