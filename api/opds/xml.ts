/**
 * Writes XML 1.0. Text is escaped here and nowhere else: only {@link element} creates markup, which is a type of its own, so an unescaped
 * value cannot get into a document.
 */

/** A piece of well-formed XML. */
class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type { Markup }

/** Strings are escaped; null is left out. */
export type XmlNode = Markup | string | null

/** Null and undefined leave the attribute out. Names come from our own code and are not checked. */
type Attributes = Readonly<Record<string, string | number | null | undefined>>

/**
 * What XML 1.0, section 2.2, forbids: control characters, lone surrogates, U+FFFE and U+FFFF; and what it discourages and parsers reject:
 * C1 controls and all other non-characters.
 */
const FORBIDDEN = /[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\p{Noncharacter_Code_Point}/gu
/** Whether a text may contain any of these; fast, without Unicode properties. */
const SUSPECT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]/
/** A text without characters to escape or check: most texts, and one test is cheaper than two replacements. */
const PLAIN = /^[ !#-%'-;=?-~\u00a0-\ud7ff]*$/
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;' }
/** Parsers turn these into spaces in attributes unless they are escaped (section 3.3.3). */
const ATTRIBUTE_ESCAPES: Readonly<Record<string, string>> = { ...ESCAPES, '\t': '&#9;', '\n': '&#10;' }

/** Removes what XML cannot contain. */
export function xmlText(text: string): string {
  return SUSPECT.test(text) ? text.replace(FORBIDDEN, '') : text
}

/** @param children if empty, the element is empty */
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

/** A complete document in UTF-8. */
export function xmlDocument(root: Markup): Buffer {
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${root.text}\n`)
}

function escapeText(text: string): string {
  return PLAIN.test(text) ? text : xmlText(text).replace(/[&<>"\r]/g, (character) => ESCAPES[character] as string)
}

function escapeAttribute(text: string): string {
  if (PLAIN.test(text)) return text
  return xmlText(text).replace(/[&<>"\r\t\n]/g, (character) => ATTRIBUTE_ESCAPES[character] as string)
}
