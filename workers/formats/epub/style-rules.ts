import type { XmlElement } from '../../metadata/xml.ts'

/** A declaration of a style sheet, or of the style of one element. */
export interface Declaration {
  /** In lower case. */
  property: string
  value: string
  /** The innermost block that contains it; undefined in the style of an element. */
  block: Block | undefined
  /** The archive path of the file that contains it: its addresses are relative to it. */
  from: string
}

/** Whether an element may be what a part of a selector names; of what depends on other elements or on people it says true. */
type Fits = (element: XmlElement) => boolean

interface Block {
  /** The compounds of each selector: `div.a > .b, p` has two selectors, the first of two compounds. Without any in an at-rule. */
  selectors: readonly (readonly Fits[])[]
  /** The at-rule, if it is one. */
  atRule: string | undefined
  outer: Block | undefined
}

/** The parts of a style: `{`, `}` and `;`, comments, strings and addresses as wholes because they may contain those, and the text between. */
function* partsOf(css: string): Generator<string> {
  const opening = /[{};"']|\/\*|<!--|-->|url\(/gi
  let at = 0
  for (let found = opening.exec(css); found !== null; found = opening.exec(css)) {
    if (found.index > at) yield css.slice(at, found.index)
    at = endOfPart(css, found[0].toLowerCase(), opening.lastIndex)
    yield css.slice(found.index, at)
    opening.lastIndex = at
  }
  yield css.slice(at)
}

/** What is not closed ends with the style. */
function endOfPart(css: string, opening: string, from: number): number {
  if (opening === '/*') return endAfter(css, '*/', from)
  if (opening === '"' || opening === "'") return endOfString(css, opening, from)
  // An address in quotes is a string, which is the next part.
  if (opening === 'url(' && !/^["']/.test(css.slice(from, from + BLANKS_MAX).trimStart())) return endAfter(css, ')', from)
  return from
}

/** More blanks before the quotes of an address are nowhere. */
const BLANKS_MAX = 20

function endAfter(css: string, closing: string, from: number): number {
  const end = css.indexOf(closing, from)
  return end < 0 ? css.length : end + closing.length
}

/** A string ends with its line as well, so that a stray quote does not hide the rules after it. */
function endOfString(css: string, quote: string, from: number): number {
  for (let at = from; at < css.length; at++) {
    if (css[at] === '\\') at++
    else if (css[at] === quote || css[at] === '\n') return at + 1
  }
  return css.length
}

const COMMENT = /^(?:<!--|-->|\/\*)/

/** The declarations of a style sheet, or of a `style` attribute, that `isWanted` by their property, in order. */
export function parseStyle(css: string, from: string, isWanted: RegExp): Declaration[] {
  const declarations: Declaration[] = []
  let block: Block | undefined
  let text = ''
  const endDeclaration = () => {
    const [, property = '', value = ''] = /^\s*([\w-]+)\s*:(.*)$/s.exec(text) ?? []
    text = ''
    if (isWanted.test(property)) {
      declarations.push({ property: property.toLowerCase(), value: value.replace(/!\s*important\s*$/i, '').trim(), block, from })
    }
  }
  for (const part of partsOf(css)) {
    if (part === '{') {
      const prelude = text.trim()
      const isAtRule = prelude.startsWith('@')
      block = { selectors: isAtRule ? [] : selectorsOf(prelude), atRule: isAtRule ? prelude : undefined, outer: block }
      text = ''
    } else if (part === ';' || part === '}') {
      endDeclaration()
      if (part === '}') block = block?.outer
    } else text += COMMENT.test(part) ? ' ' : part
  }
  endDeclaration()
  return declarations
}

/** Whether a declaration of a style sheet may apply to one of the subjects. @param elements all of the page: selectors name some besides their subject */
export function mayApply(declaration: Declaration, subjects: readonly XmlElement[], elements: readonly XmlElement[]): boolean {
  for (let { block } = declaration; block !== undefined; block = block.outer) {
    const named = block === declaration.block ? subjects : elements
    const mayHold =
      block.atRule === undefined
        ? block.selectors.some((compounds) =>
            compounds.every((fits, index) => (index === compounds.length - 1 ? named : elements).some(fits)),
          )
        : mayHoldInBrowsers(block.atRule)
    if (!mayHold) return false
  }
  return true
}

/** At-rules whose blocks contain rules; others describe fonts, printed pages or the steps of animations. */
const CONDITIONS = /^@(media|supports|layer|container|scope)\b(.*)$/is

function mayHoldInBrowsers(atRule: string): boolean {
  const [, name, condition = ''] = CONDITIONS.exec(atRule) ?? []
  return name !== undefined && (name.toLowerCase() !== 'media' || isForBrowsers(condition))
}

/** Whether a list of media queries may hold in a browser: `print` does not, and `amzn-kf8` only on devices of one vendor. */
export const isForBrowsers = (media: string): boolean =>
  media.split(',').some((query) => /^(?:|screen|all|not)$/i.test(/^\s*(?:only\s+)?([a-z-]*)/i.exec(query)?.[1] ?? ''))

/** The signs of selectors outside brackets and parentheses; what follows a backslash is none. */
function* signsOf(text: string): Generator<{ sign: string; at: number }> {
  let depth = 0
  for (const { 0: sign, index: at } of text.matchAll(/\\.|[[\](),\s>+~.#:]/gs)) {
    if (depth === 0 && sign.length === 1) yield { sign, at }
    if (sign === '[' || sign === '(') depth++
    if (sign === ']' || sign === ')') depth = Math.max(0, depth - 1)
  }
}

function selectorsOf(list: string): Fits[][] {
  const selectors: Fits[][] = [[]]
  let start = 0
  const endCompound = (at: number) => {
    if (at > start) selectors.at(-1)?.push(compoundOf(list.slice(start, at)))
    start = at + 1
  }
  for (const { sign, at } of signsOf(list)) {
    if (/[,\s>+~]/.test(sign)) endCompound(at)
    if (sign === ',') selectors.push([])
  }
  endCompound(list.length)
  return selectors.filter((compounds) => compounds.length > 0)
}

function compoundOf(compound: string): Fits {
  const starts = [0, ...[...signsOf(compound)].filter(({ sign }) => /[.#:[]/.test(sign)).map(({ at }) => at)]
  const all = starts.map((start, index) => partOf(compound.slice(start, starts[index + 1])))
  return (element) => all.every((fits) => fits(element))
}

/** A name with its mark, an attribute in brackets, or a pseudo-class with its arguments. */
function partOf(part: string): Fits {
  if (part.startsWith('[')) return attributeOf(part.slice(1).split(']', 1)[0] as string)
  if (part.startsWith(':')) {
    const [pseudo = ''] = part.slice(1).split('(', 1)
    return pseudoOf(pseudo.toLowerCase(), part.slice(pseudo.length + 2).replace(/\)$/, ''))
  }
  if (part.startsWith('.') || part.startsWith('#')) return nameOf(part[0] as string, unescaped(part.slice(1)))
  // Elements are read without the prefix of their namespace. `&` is the selector around a nested one.
  const name = part.slice(part.lastIndexOf('|') + 1)
  return name === '' || name === '*' || name === '&' ? () => true : nameOf('', unescaped(name))
}

function nameOf(mark: string, name: string): Fits {
  if (mark === '.') return ({ attributes }) => wordsOf(attributes.get('class')).includes(name)
  if (mark === '#') return ({ attributes }) => attributes.get('id') === name
  return (element) => element.name.toLowerCase() === name.toLowerCase()
}

function pseudoOf(pseudo: string, list: string): Fits {
  const isNot = pseudo === 'not'
  // "Not what may be" is unknown: only names are certain. Lists in lists are not read, so that their depth needs no limit.
  if (isNot ? /[:[\\(]/.test(list) : list.includes('(') || !/^(?:is|where|matches|-\w+-any)$/.test(pseudo)) return () => true
  const selectors = selectorsOf(list)
  if (isNot) return (element) => !selectors.some(([fits, ...others]) => others.length === 0 && fits?.(element))
  return (element) => selectors.some((compounds) => compounds.at(-1)?.(element))
}

/** Compares as CSS does with `=` and `~=`; with other signs it is enough if the value is contained. */
function attributeOf(text: string): Fits {
  const [written = '', ...rest] = text.split('=')
  const sign = rest.length > 0 ? (/[~|^$*]$/.exec(written)?.[0] ?? '=') : ''
  const prefixed = unescaped(sign === '' || sign === '=' ? written : written.slice(0, -1)).trim()
  // Attributes are read without prefix: `epub|type` and `epub\:type` are `type`.
  const name = prefixed.slice(Math.max(prefixed.lastIndexOf('|'), prefixed.lastIndexOf(':')) + 1)
  const wanted = unquoted(rest.join('=').trim())
  return ({ attributes }) => {
    const value = attributes.get(name)
    if (value === undefined || sign === '') return value !== undefined
    if (sign === '=') return value === wanted
    return sign === '~' ? wordsOf(value).includes(wanted) : value.includes(wanted)
  }
}

/** What follows the quotes, or the blank after a name, says whether case matters. */
function unquoted(text: string): string {
  const quote = text[0] ?? ''
  return (quote === '"' || quote === "'" ? text.slice(1).split(quote, 1) : text.split(/\s/, 1))[0] as string
}

const wordsOf = (value = '') => value.split(/\s+/)

const unescaped = (name: string) => name.replace(/\\(.)/gs, '$1')
