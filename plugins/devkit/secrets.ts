/** Something that looks like a credential, where everybody would read it. */
export interface Suspicion {
  /** What it looks like. */
  kind: string
  /** Enough of it to find it, and no more. */
  hint: string
  /** By its form alone; otherwise it only looks random. */
  certain: boolean
}

/** Forms that services have given to their credentials, so that they are found in places like this. */
const FORMS: readonly [kind: string, form: RegExp][] = [
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ['a token of GitHub', /\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b/],
  ['a token of GitLab', /\bglpat-[A-Za-z0-9_-]{20,}/],
  ['an access key of AWS', /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/],
  ['a key of Google', /\bAIza[A-Za-z0-9_-]{35}\b/],
  ['a token of Slack', /\bxox[abprs]-[A-Za-z0-9-]{10,}/],
  ['a key of Stripe', /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b/],
  ['a token of npm', /\bnpm_[A-Za-z0-9]{36}\b/],
  ['a secret key of an API', /\bsk-[A-Za-z0-9_-]{32,}/],
  ['a token of SendGrid', /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/],
  ['a token of Telegram', /\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b/],
  ['a signed token (JWT)', /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/],
  ['a key of Carrel', /\bcarrel_[A-Za-z0-9_-]{24,}/],
  ['a password in an address', /\bhttps?:\/\/[^\s/:@]+:[^\s/@]{3,}@/],
]

/** One word of this length, of letters and digits mixed, as keys are. */
const RANDOM_WORD = /^(?=[^a-zA-Z]*[a-zA-Z])(?=\D*\d)[A-Za-z0-9+/_=-]{32,200}$/
/**
 * Bits of a letter of such a word. Random base64 of 40 letters has 4.8, of hexadecimal 3.6 (16 letters cannot have more than 4); names that people
 * write with words have less, and an alphabet is a table, whose letters come once each.
 */
const BITS_MIN = 3.5

/** What in these texts looks like a credential; each once. */
export function findSecrets(texts: readonly string[]): Suspicion[] {
  const found = new Map<string, Suspicion>()
  for (const text of texts) {
    for (const [kind, form] of FORMS) {
      const [match] = form.exec(text) ?? []
      if (match !== undefined) found.set(match, { kind, hint: hintOf(match), certain: true })
    }
    if (RANDOM_WORD.test(text) && !found.has(text) && looksRandom(text))
      found.set(text, { kind: 'something random, as keys are', hint: hintOf(text), certain: false })
  }
  return [...found.values()]
}

const hintOf = (text: string): string => `${text.slice(0, 6).replace(/[^ -~]/g, '?')}… (${text.length} characters)`

function looksRandom(text: string): boolean {
  const counts = new Map<string, number>()
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  // Every letter once: an alphabet that something is encoded with.
  if (counts.size === text.length) return false
  const bits = [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0)
  return bits >= BITS_MIN
}
