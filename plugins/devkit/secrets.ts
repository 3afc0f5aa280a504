/** A text that looks like a credential, in a file that everybody can read. */
interface Suspicion {
  /** The kind of credential. */
  kind: string
  /** Enough of it to find it, and no more. */
  hint: string
  /** True when its form is that of a known service; false when it only looks random. */
  certain: boolean
}

/** The token formats of services, which exist so that leaked tokens can be found. */
const FORMS: readonly [kind: string, form: RegExp][] = [
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ['a GitHub token', /\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b/],
  ['a GitLab token', /\bglpat-[A-Za-z0-9_-]{20,}/],
  ['an AWS access key', /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/],
  ['a Google key', /\bAIza[A-Za-z0-9_-]{35}\b/],
  ['a Slack token', /\bxox[abprs]-[A-Za-z0-9-]{10,}/],
  ['a Stripe key', /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b/],
  ['an npm token', /\bnpm_[A-Za-z0-9]{36}\b/],
  ['an API secret key', /\bsk-[A-Za-z0-9_-]{32,}/],
  ['a SendGrid token', /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/],
  ['a Telegram token', /\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b/],
  ['a signed token (JWT)', /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/],
  ['a Carrel API key', /\bcarrel_[A-Za-z0-9_-]{24,}/],
  ['a password in a URL', /\bhttps?:\/\/[^\s/:@]+:[^\s/@]{3,}@/],
]

/** One word of this length, of mixed letters and digits, like a key. */
const RANDOM_WORD = /^(?=[^a-zA-Z]*[a-zA-Z])(?=\D*\d)[A-Za-z0-9+/_=-]{32,200}$/
/**
 * Entropy of such a word in bits per letter. Random base64 of 40 letters has 4.8, hexadecimal 3.6 (16 letters cannot have more than 4); names composed
 * of words have less, and an alphabet is a table that contains each letter once.
 */
const BITS_MIN = 3.5

/** The suspected credentials in these texts, without duplicates. */
export function findSecrets(texts: readonly string[]): Suspicion[] {
  const found = new Map<string, Suspicion>()
  for (const text of texts) {
    for (const [kind, form] of FORMS) {
      const [match] = form.exec(text) ?? []
      if (match !== undefined) found.set(match, { kind, hint: hintOf(match), certain: true })
    }
    if (RANDOM_WORD.test(text) && !found.has(text) && looksRandom(text))
      found.set(text, { kind: 'a random text that looks like a key', hint: hintOf(text), certain: false })
  }
  return [...found.values()]
}

const hintOf = (text: string): string => `${text.slice(0, 6).replace(/[^ -~]/g, '?')}… (${text.length} characters)`

function looksRandom(text: string): boolean {
  const counts = new Map<string, number>()
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  // Every letter occurs once: an alphabet of an encoding.
  if (counts.size === text.length) return false
  const bits = [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0)
  return bits >= BITS_MIN
}
