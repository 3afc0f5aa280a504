/** Host names have at most 253 octets; normalizing a long one would take quadratic time. */
const DOMAIN_LENGTH_MAX = 2_000

/** Encodes host names in other scripts; null for what is none. The name servers decide which characters are allowed. */
export function toASCII(domain: string): string | null {
  if (/^[\0-\x7f]*$/.test(domain)) return domain.toLowerCase()
  if (domain.includes('\ufffd') || domain.length > DOMAIN_LENGTH_MAX) return null
  const mapped = [...domain.replace(/\u00ad|\u200b|\u2060|\ufeff|[\ufe00-\ufe0f]/g, '').normalize('NFKC')]
    .map((char) => char.toLowerCase())
    .join('')
    .normalize('NFKC')
  const labels = mapped.split(/[.\u3002]/)
  // An encoded name is not encoded again.
  if (labels.some((label) => label.startsWith('xn--') && /[^\0-\x7f]/.test(label))) return null
  return labels.map((label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label)).join('.')
}

const digitOf = (value: number): string => String.fromCharCode(value < 26 ? 97 + value : 22 + value)

/** RFC 3492. */
function punycode(label: string): string {
  const points = [...label.toWellFormed()].map((char) => char.codePointAt(0) as number)
  const basic = points.filter((point) => point < 0x80)
  let output = String.fromCodePoint(...basic) + (basic.length > 0 ? '-' : '')
  let [n, delta, bias, handled] = [128, 0, 72, basic.length]
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= n))
    delta += (next - n) * (handled + 1)
    n = next
    for (const point of points) {
      if (point < n) delta++
      if (point !== n) continue
      output += integerOf(delta, bias)
      bias = adapted(delta, handled + 1, handled === basic.length)
      delta = 0
      handled++
    }
    delta++
    n++
  }
  return output
}

function integerOf(value: number, bias: number): string {
  let output = ''
  let rest = value
  for (let k = 36; ; k += 36) {
    const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
    if (rest < t) return output + digitOf(rest)
    output += digitOf(t + ((rest - t) % (36 - t)))
    rest = Math.floor((rest - t) / (36 - t))
  }
}

function adapted(value: number, count: number, isFirst: boolean): number {
  let delta = Math.floor(value / (isFirst ? 700 : 2))
  delta += Math.floor(delta / count)
  let bias = 0
  for (; delta > 455; bias += 36) delta = Math.floor(delta / 35)
  return bias + Math.floor((36 * delta) / (delta + 38))
}
