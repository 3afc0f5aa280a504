/** Replaces a secret. */
export const HIDDEN = '[hidden]'

const encoder = new TextEncoder()
const CUT = '…'
const CUT_BYTES = encoder.encode(CUT).length

/** Cuts a text to so many bytes of UTF-8, with an ellipsis when something was left out. */
export function cutBytes(text: string, bytesMax: number): string {
  // A UTF-16 unit takes at most three bytes: short texts need no measuring.
  if (text.length * 3 <= bytesMax || (text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax)) return text
  if (bytesMax < CUT_BYTES) return ''
  const { read } = encoder.encodeInto(text.slice(0, bytesMax), new Uint8Array(bytesMax - CUT_BYTES))
  return text.slice(0, read) + CUT
}

/** Words in names of secrets. Whole words only: `author` does not match `auth`. */
const SECRET_WORDS = new Set(
  'password passwd passphrase pass pwd secret secrets token tokens jwt bearer otp auth authorization cookie cookies credential credentials signature session'.split(
    ' ',
  ),
)
/** The same for names without separated words. */
const SECRET_PARTS =
  /password|passwd|passphrase|secret|apikey|appkey|accesskey|privatekey|clientkey|signingkey|encryptionkey|sessionid|sessionkey|authkey|authheader|(?:access|refresh|auth|id|bearer|csrf|session)token/
const WORDS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g
/** Nobody writes longer names; only their beginning is checked. */
const NAME_LENGTH_MAX = 200

/** Whether a key, a header or a parameter has the name of a secret. */
export function isSecretName(name: string): boolean {
  const start = name.slice(0, NAME_LENGTH_MAX)
  const words = start.match(WORDS) ?? []
  return words.some((word) => SECRET_WORDS.has(word.toLowerCase())) || SECRET_PARTS.test(start.toLowerCase().replace(/[^a-z0-9]/g, ''))
}

/** `Bearer abc`, as in a header. */
const SCHEME = /\b(bearer|basic|digest|token)(\s+)[\w.~+/=-]{8,}/gi
/** `user:password@` in a URL. */
const USER_INFO = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@"']{1,400}@/gi
/** Words joined by dots. The lookbehind makes the expression read each word once. */
const JOINED = /(?<![\w.-])[\w-]*(?:\.[\w-]*)+/g
/** Signed tokens have a known prefix, whatever their name. */
const SIGNED_START = /\beyJ[\w-]{8}/
const SIGNED_CLAIMS_LENGTH_MIN = 4
const SIGNS = /[=:]/g
/** A scheme before the secret, which is already hidden. */
const SCHEMES = /^(bearer|basic|digest|token)$/i
/** The end of a value, as in `name=value&`. */
const VALUE_END = /[\s"'&,;}\])]/g
const NAME_BEFORE = /([\w.-]{2,60})["']?\s{0,4}$/
const BEFORE_VALUE = /[\s"']{0,4}/y
/** Between them: the longest name, a quote and spaces. */
const NAME_AND_SIGN_LENGTH_MAX = 66

/** Hides the values of `name=value` and `name: value` when the name is that of a secret. Takes linear time. */
function hideAssigned(text: string): string {
  let shown = ''
  let from = 0
  for (let at = text.search(SIGNS); at !== -1; ) {
    const name = NAME_BEFORE.exec(text.slice(Math.max(from, at - NAME_AND_SIGN_LENGTH_MAX), at))?.[1]
    let next = at + 1
    if (name !== undefined && isSecretName(name)) {
      BEFORE_VALUE.lastIndex = next
      BEFORE_VALUE.test(text)
      const start = BEFORE_VALUE.lastIndex
      VALUE_END.lastIndex = start
      const end = VALUE_END.test(text) ? VALUE_END.lastIndex - 1 : text.length
      const value = text.slice(start, end)
      if (value !== '' && !SCHEMES.test(value) && !value.startsWith(HIDDEN.slice(0, -1))) {
        shown += text.slice(from, start) + HIDDEN
        from = end
        next = end
      }
    }
    SIGNS.lastIndex = next
    at = SIGNS.test(text) ? SIGNS.lastIndex - 1 : -1
  }
  return shown + text.slice(from)
}

/** Hides header, claims and signature of a token, which are joined by dots. */
function hideSigned(joined: string): string {
  const words = joined.split('.')
  const shown: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string
    const start = (words[at + 1]?.length ?? 0) < SIGNED_CLAIMS_LENGTH_MIN ? -1 : word.search(SIGNED_START)
    shown.push(start < 0 ? word : word.slice(0, start) + HIDDEN)
    if (start >= 0) at += 2
  }
  return shown.join('.')
}

/** Removes whatever looks like a secret from a text. */
export const hideSecrets = (text: string): string =>
  hideAssigned(text.replace(SCHEME, `$1$2${HIDDEN}`).replace(JOINED, hideSigned).replace(USER_INFO, `$1${HIDDEN}@`))

/** Quotes, backslashes and the controls with a short escape in JSON. */
const SHORT_ESCAPES = /["\\\b\t\n\f\r]/

/**
 * Cuts a text to so many characters of JSON, including quotes, with an ellipsis when something was left out; only the ellipsis when nothing
 * fits. Reads each unit of the text once: escapes make the JSON up to six times as long as the text.
 */
function cutJson(text: string, lengthMax: number): string {
  let length = 2
  /** The last position after which the ellipsis still fits. */
  let fits = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (SHORT_ESCAPES.test(text.charAt(at))) length += 2
    else length += code < 0x20 || (code >= 0xd800 && code < 0xe000 && !isPaired(text, at)) ? 6 : 1
    if (length > lengthMax) return text.slice(0, fits).toWellFormed() + CUT
    if (length < lengthMax) fits = at + 1
  }
  return text
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00
const isLow = (code: number): boolean => code >= 0xdc00 && code < 0xe000
/** Whether a surrogate has its other half beside it. */
const isPaired = (text: string, at: number): boolean =>
  isHigh(text.charCodeAt(at)) ? isLow(text.charCodeAt(at + 1)) : isHigh(text.charCodeAt(at - 1))

/** Deeper, longer and wider than anything that a person reads. */
const DEPTH_MAX = 12
const TEXT_LENGTH_MAX = 2_000
const ITEMS_MAX = 100

/**
 * Makes a value safe to store and show: hides members with the name or the form of a secret, cuts long texts and lists. `cut` says whether
 * anything is missing or changed. The JSON has at most `lengthMax` characters, and a few more for the marks of omissions.
 * @param limits.hides false only cuts, which is fast: for values that pass through here again before anybody sees them
 */
export function redact(value: unknown, limits: { lengthMax: number; hides?: boolean }): { value: unknown; cut: boolean } {
  const redaction = new Redaction(limits)
  return { value: redaction.redact(value, 0), cut: redaction.cut }
}

class Redaction {
  /** Whether anything is missing or changed. */
  cut = false
  /** Characters left. */
  #left: number
  readonly #hides: boolean

  constructor({ lengthMax, hides = true }: Parameters<typeof redact>[1]) {
    this.#left = lengthMax
    this.#hides = hides
  }

  redact(value: unknown, depth: number): unknown {
    if (value === null || typeof value === 'boolean') return this.#take(5) ? value : CUT
    if (typeof value === 'number') return this.#take(String(value).length) ? value : CUT
    if (typeof value === 'string' && this.#left > 3) return this.#text(value)
    if (typeof value !== 'object' && typeof value !== 'string') return null
    if (typeof value === 'string' || depth >= DEPTH_MAX || !this.#take(2)) {
      this.cut = true
      return CUT
    }
    return Array.isArray(value) ? this.#items(value, depth) : this.#members(value, depth)
  }

  #items(given: readonly unknown[], depth: number): unknown[] {
    const items: unknown[] = []
    for (const item of given) {
      if (items.length >= ITEMS_MAX || !this.#take(1)) {
        this.cut = true
        items.push(`${CUT} ${given.length - items.length} more`)
        break
      }
      items.push(this.redact(item, depth + 1))
    }
    return items
  }

  #members(given: object, depth: number): unknown {
    const members: [string, unknown][] = []
    for (const [name, member] of Object.entries(given)) {
      if (member === undefined) continue
      if (members.length >= ITEMS_MAX || this.#left < 6) {
        this.cut = true
        members.push([CUT, CUT])
        break
      }
      members.push([this.#text(name.slice(0, NAME_LENGTH_MAX)), this.#member(name, member, depth)])
      this.#take(2)
    }
    // fromEntries defines members: `__proto__` is an ordinary name.
    return Object.fromEntries(members)
  }

  #member(name: string, member: unknown, depth: number): unknown {
    if (!this.#hides || member === null || !isSecretName(name)) return this.redact(member, depth + 1)
    this.#take(HIDDEN.length + 4)
    this.cut = true
    return HIDDEN
  }

  #text(given: string): string {
    const shown = this.#shorten(given, Math.min(TEXT_LENGTH_MAX, this.#left))
    const fitting = cutJson(shown, this.#left)
    if (fitting !== shown) this.cut = true
    this.#left = Math.max(0, this.#left - JSON.stringify(fitting).length)
    return fitting
  }

  #shorten(text: string, lengthMax: number): string {
    // Searches only what can be shown, and a little more, so that no secret is cut in half and shown.
    const start = text.slice(0, lengthMax + TEXT_LENGTH_MAX)
    const hidden = this.#hides ? hideSecrets(start) : start
    if (hidden !== text || hidden.length > lengthMax) this.cut = true
    return hidden.length > lengthMax ? `${hidden.slice(0, lengthMax).toWellFormed()}${CUT}` : hidden
  }

  #take(length: number): boolean {
    if (length > this.#left) {
      this.cut = true
      this.#left = 0
      return false
    }
    this.#left -= length
    return true
  }
}
