/** Milliseconds, or bytes and other counts, of a word behind a number. Letters for bytes mean powers of 1,024 where the number is one. */
const UNITS: Record<string, number | readonly [binary: number, decimal: number]> = {
  ms: 1,
  s: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  million: 1_000_000,
  K: [1024, 1_000],
  KB: [1024, 1_000],
  kB: [1024, 1_000],
  M: [1024 ** 2, 1_000_000],
  MB: [1024 ** 2, 1_000_000],
  GB: [1024 ** 3, 1e9],
}
/** What the name of a constant says of its unit. */
const NAMED: readonly [name: RegExp, factor: number][] = [
  [/(_MS|[a-z]Ms)(_|Max|$)/, 1],
  [/SECONDS/, 1_000],
  [/MINUTES/, 60_000],
  [/DAYS|[a-z]Days/, 86_400_000],
  [/_MB(_|$)/, 1024 ** 2],
]

/** A number in the page, its unit, and the constant that it is. */
const MARKED = /([\d.,]+)(?: ([A-Za-z]+))?<!-- (\w+) -->/g

/** A line that declares a constant, or a member of one, as a number, or as products and powers of numbers and other constants of its file. */
const DECLARED = /^ *(?:export )?(?:const )?(\w+)(?:: number)?(?: =|:) ([\w. *]+),?$/gm

/**
 * The page of limits with its marked numbers as the code has them now. The files of a row are those that it names.
 * @throws if none of them has the constant
 */
export function renderLimits(page: string, read: (path: string) => string): string {
  return page.replace(/^\|.*\|$/gm, (row) => {
    const files = [...row.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => constantsOf(read(path)))
    return row.replaceAll(MARKED, (_all, _number, unit: string | undefined, name: string) => {
      const constants = files.find((file) => file.has(name))
      if (constants === undefined) throw new Error(`docs/limits.md names ${name}, which no file of its row declares: ${row}`)
      return `${shown(name, numberOf(constants, name), unit)}<!-- ${name} -->`
    })
  })
}

const constantsOf = (text: string): Map<string, string> =>
  new Map([...text.matchAll(DECLARED)].map(([, name = '', written = '']) => [name, written]))

function numberOf(constants: Map<string, string>, name: string): number {
  const factors = (constants.get(name) ?? '').split(' * ').map((factor) => {
    const [base = 0, exponent = 1] = factor
      .split(' ** ')
      .map((part) => (/^\d/.test(part) ? Number(part.replaceAll('_', '')) : numberOf(constants, part)))
    return base ** exponent
  })
  return factors.reduce((product, factor) => product * factor, 1)
}

function shown(name: string, value: number, unit: string | undefined): string {
  const all = value * (NAMED.find(([pattern]) => pattern.test(name))?.[1] ?? 1)
  const sizes = unit === undefined ? 1 : UNITS[unit]
  if (sizes === undefined) throw new Error(`docs/limits.md shows ${name} in ${unit}, which is none of: ${Object.keys(UNITS).join(', ')}`)
  const size = typeof sizes === 'number' ? sizes : sizes[all % sizes[0] === 0 ? 0 : 1]
  const number = (all / size).toLocaleString('en-US', { maximumFractionDigits: 2 })
  return unit === undefined ? number : `${number} ${unit}`
}
