/**
 * Writes XML 1.0. Whatever is given as text is escaped here and nowhere else: markup is a type of its own, which only {@link element} makes, so a value
 * that was not escaped cannot get into a document.
 */

/** A piece of XML that is well-formed by itself. */
class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type { Markup }

/** Texts are escaped; null is left out. */
export type XmlNode = Markup | string | null

/** Null and undefined leave the attribute out. Names stand in our own code and are not checked. */
type Attributes = Readonly<Record<string, string | number | null | undefined>>

/**
 * What no document may hold (XML 1.0, section 2.2): control characters, halves of surrogate pairs, U+FFFE and U+FFFF; and what section 2.2 advises against
 * and readers choke on: the C1 controls and all other non-characters.
 */
const FORBIDDEN = /[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\p{Noncharacter_Code_Point}/gu
/** Whether anything of that may be in a text: without the rules of Unicode the look is quick. */
const SUSPECT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]/
/** Whether a text has anything that must be looked at: most have not, and one look is cheaper than two replacements. */
const PLAIN = /^[ !#-%'-;=?-~\u00a0-\ud7ff]*$/
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;' }
/** Parsers turn these into blanks where they stand as they are (section 3.3.3). */
const ATTRIBUTE_ESCAPES: Readonly<Record<string, string>> = { ...ESCAPES, '\t': '&#9;', '\n': '&#10;' }

/** A text without what XML cannot hold. */
export function cleanText(text: string): string {
  return SUSPECT.test(text) ? text.replace(FORBIDDEN, '') : text
}

/** @param children without any, the element is empty */
export function element(name: string, attributes: Attributes = {}, children: readonly XmlNode[] = []): Markup {
  let head = `<${name}`
  for (const attribute in attributes) {
    const value = attributes[attribute]
    if (value !== null && value !== undefined) head += ` ${attribute}="${escapeAttribute(String(value))}"`
  }
  let content = ''
  for (const child of children) {
    if (child !== null) content += typeof child === 'string' ? escapeText(child) : child.text
  }
  return new Markup(content === '' ? `${head}/>` : `${head}>${content}</${name}>`)
}

/** A whole document, in UTF-8. */
export function documentOf(root: Markup): Buffer {
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${root.text}\n`)
}

function escapeText(text: string): string {
  return PLAIN.test(text) ? text : cleanText(text).replace(/[&<>"\r]/g, (character) => ESCAPES[character] as string)
}

function escapeAttribute(text: string): string {
  if (PLAIN.test(text)) return text
  return cleanText(text).replace(/[&<>"\r\t\n]/g, (character) => ATTRIBUTE_ESCAPES[character] as string)
}
