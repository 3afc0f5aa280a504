import { isObject } from '#core/foundation/plain-object.ts'
import { briefJson, briefText } from '#core/foundation/stranger-text.ts'

/** What a server changes in an answer, and what JSON loses, without a word to anybody: for the author, who can do better. */

/** The first are enough to see what is wrong. */
const REPAIRS_MAX = 10

/**
 * Compares an answer with what a server makes of it.
 * @returns a sentence for each difference, which begins with its path
 */
export function repairsOf(given: unknown, read: unknown): string[] {
  const found: string[] = []
  compare(given, read, '', (path, what) => {
    if (what !== undefined) found.push(`${path || 'the answer'}: ${what}`)
  })
  const more = found.length - REPAIRS_MAX
  return more > 0 ? [...found.slice(0, REPAIRS_MAX), `and ${more} more`] : found
}

type Note = (path: string, what?: string) => void

function compare(given: unknown, read: unknown, path: string, note: Note): void {
  if (given === read || given === undefined) return
  if (typeof given === 'string') note(path, ...changeOfText(given, read))
  else if (typeof given === 'number' && typeof read === 'number') {
    const isRounded = !Number.isInteger(given) && Number.isInteger(read) && Math.abs(given - read) <= 0.5
    note(path, `${given} became ${read}: ${isRounded ? 'it must be a whole number' : 'it is out of range'}.`)
  } else if (Array.isArray(given) && Array.isArray(read)) compareLists(given, read, path, note)
  else if (isObject(given) && isObject(read))
    for (const [name, member] of Object.entries(given)) {
      if (Object.hasOwn(read, name)) compare(member, read[name], `${path}/${name}`, note)
      else note(`${path}/${name}`, 'servers do not know this member, and drop it.')
    }
}

/** Nothing for the same address in the spelling of browsers. */
function changeOfText(given: string, read: unknown): [] | [string] {
  if (typeof read !== 'string') return ['it is not an address that servers accept (http or https), and is left out.']
  if (URL.canParse(given) && URL.canParse(read)) return []
  if (read.length < given.length && given.startsWith(read.trimEnd())) return [`its ${given.length} characters were cut to ${read.length}.`]
  return ['it was rewritten as plain text: servers remove markup, control characters and needless spaces.']
}

function compareLists(given: readonly unknown[], read: readonly unknown[], path: string, note: Note): void {
  // Which items are gone is not known, so the rest cannot be compared.
  if (given.length !== read.length) note(path, `of ${given.length} items ${read.length} are kept.`)
  else for (const [index, item] of given.entries()) compare(item, read[index], `${path}/${index}`, note)
}

/** What to give in place of a value that JSON does not keep. */
const IN_PLACE_OF: Readonly<Record<string, string>> = {
  Promise: ' Write await before it.',
  Map: ' Give Object.fromEntries(map).',
  Set: ' Give [...set].',
  Error: ' Give its message.',
}

/**
 * What code gave a function of `ctx` and does not arrive.
 * @param said by the code in the sandbox
 * @returns a sentence with the path; null when it says something else
 */
export function lossOf({ lost, of, name, path }: Readonly<Record<string, unknown>>): string | null {
  if (typeof lost !== 'string' || typeof of !== 'string') return null
  const kind = briefText(lost)
  if (of === 'progress') return `ctx.progress takes a fraction from 0 to 1; it is ${kind}.`
  const place = `ctx.${briefText(of)}(${briefJson(name)})${path === '' ? '' : ` ${briefText(String(path))}`}`
  if (lost === '')
    return `${place}: its data is left out. It must be plain JSON: without BigInt, and without an object that contains itself.`
  const instead = Object.hasOwn(IN_PLACE_OF, lost) ? IN_PLACE_OF[lost] : ''
  return `${place}: JSON does not keep values of this kind: ${kind}.${instead}`
}
