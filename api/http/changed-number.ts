import { escapePointer } from '#core/foundation/json-pointer.ts'

/** In place of a number that JSON.parse changes. */
const CHANGED = Symbol('changed')

/** In the language since 2025; TypeScript's library does not declare the third argument yet. */
type Reviver = (key: string, value: unknown) => unknown

/**
 * The path of the first number below these members that JSON.parse changes, because it has more digits than a double; null if there is none.
 * @param text valid JSON
 */
export function changedNumber(text: string, members: readonly string[]): string | null {
  const mark = (_: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' && digitsOf(source) !== digitsOf(String(value)) ? CHANGED : value
  const marked = JSON.parse(text, mark as Reviver) as Record<string, unknown>
  return firstPath(members.map((name) => pathOf(marked[name], `/${name}`)))
}

function pathOf(value: unknown, path: string): string | null {
  if (value === CHANGED) return path
  if (typeof value !== 'object' || value === null) return null
  return firstPath(Object.entries(value).map(([name, member]) => pathOf(member, `${path}/${escapePointer(name)}`)))
}

const firstPath = (paths: readonly (string | null)[]): string | null => paths.find((path) => path !== null) ?? null

/** The same for all ways to write one number, such as 10, 1e1 and 10.0. */
function digitsOf(written: string): string {
  const sign = written.startsWith('-') ? '-' : ''
  const [mantissa = '', exponent = '0'] = written.slice(sign.length).toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const all = whole + fraction
  let first = 0
  while (all[first] === '0') first++
  let end = all.length
  while (end > first && all[end - 1] === '0') end--
  const power = Number(exponent) - fraction.length + (all.length - end)
  return first === end ? '0' : `${sign}${all.slice(first, end)}e${power}`
}
