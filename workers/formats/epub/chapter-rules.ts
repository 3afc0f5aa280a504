/** What of the markup of a chapter reaches a browser. Names are compared without prefix and case: any prefix may stand for XHTML or SVG. */

/** Elements that are removed with all that they contain. */
const REMOVED = new Set([
  'script',
  'handler',
  'listener',
  'template',
  'iframe',
  'frame',
  'frameset',
  'embed',
  'applet',
  'portal',
  'fencedframe',
  'base',
  'param',
  'input',
  'select',
  'textarea',
  'datalist',
  'keygen',
  'isindex',
])
/** Elements whose content remains: forms contain text, and the others what to show where they do not work. */
const UNWRAPPED = new Set(['form', 'button', 'object', 'noscript', 'noframes'])
/** Chapters that are not well-formed often leave these open. */
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'frame',
  'hr',
  'img',
  'input',
  'isindex',
  'keygen',
  'link',
  'meta',
  'param',
  'source',
  'track',
  'wbr',
])
const ANIMATIONS = new Set(['set', 'animate', 'animatecolor', 'animatemotion', 'animatetransform'])

/** Attributes that send, load or open something, and `xml:base`, which changes what addresses mean. */
const REMOVED_ATTRIBUTES = new Set([
  'srcdoc',
  'formaction',
  'action',
  'ping',
  'attributionsrc',
  'manifest',
  'target',
  'http-equiv',
  'base',
  'nonce',
])
const ADDRESS_ATTRIBUTES = new Set([
  'href',
  'src',
  'poster',
  'background',
  'data',
  'cite',
  'longdesc',
  'classid',
  'codebase',
  'archive',
  'profile',
  'icon',
  'lowsrc',
  'dynsrc',
])
const SOURCE_SETS = new Set(['srcset', 'imagesrcset'])

/** What to do with an element: `empty` writes it without content, and its content after it; `unwrap` writes its content alone. */
type ElementRule = 'keep' | 'empty' | 'unwrap' | 'remove'

/** Attributes by their names as written. */
export type Attributes = Readonly<Record<string, string>>

/** @param name without prefix, in lower case */
export function ruleOfElement(name: string, attributes: Attributes): ElementRule {
  const isVoid = VOID.has(name)
  if (REMOVED.has(name)) return isVoid ? 'unwrap' : 'remove'
  if (UNWRAPPED.has(name)) return 'unwrap'
  if (name === 'link' && !isStyleSheet(attributes)) return 'unwrap'
  // Pages of fixed size name their size here; nothing else in a meta element is for readers.
  if (name === 'meta' && find(attributes, 'name')?.toLowerCase() !== 'viewport') return 'unwrap'
  if (ANIMATIONS.has(name) && mayNotChange(localName(find(attributes, 'attributename')?.trim() ?? ''))) return 'remove'
  return isVoid ? 'empty' : 'keep'
}

/** Other words in `rel`, such as `preconnect`, open connections without loading anything. */
function isStyleSheet(attributes: Attributes): boolean {
  const words = (find(attributes, 'rel') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return words.includes('stylesheet') && words.every((word) => word === 'stylesheet' || word === 'alternate')
}

/** The first value of an attribute, whatever its case and prefix. */
function find(attributes: Attributes, name: string): string | undefined {
  return Object.entries(attributes).find(([written]) => localName(written) === name)?.[1]
}

/** An animation may set an attribute to what it could not contain. */
const mayNotChange = (name: string) => name.startsWith('on') || ADDRESS_ATTRIBUTES.has(name) || REMOVED_ATTRIBUTES.has(name)

/** Whether an attribute may remain. @param element without prefix, in lower case */
export function allowsAttribute(element: string, { name, value }: { name: string; value: string }): boolean {
  const local = localName(name)
  if (local.startsWith('on') || REMOVED_ATTRIBUTES.has(local)) return false
  if (SOURCE_SETS.has(local)) return !/[:\\]|\/\//.test(value)
  return !ADDRESS_ATTRIBUTES.has(local) || allowsAddress(element, value)
}

/** The name without prefix, in lower case. */
export const localName = (name: string): string => name.slice(name.indexOf(':') + 1).toLowerCase()

const LINKS = new Set(['a', 'area'])
const PICTURES = new Set(['img', 'image'])

/** Links may lead to other sites; everything that is loaded is in the book, or a picture in the address itself. */
function allowsAddress(element: string, value: string): boolean {
  if (isRelativeAddress(value)) return true
  const address = asBrowsersRead(value).toLowerCase()
  if (LINKS.has(element)) return /^(?:https?:|mailto:|tel:|[\\/]{2})/.test(address)
  return PICTURES.has(element) && /^data:image\/[a-z]/.test(address)
}

/** Whether an address has neither a scheme nor a host, so that it leads to this server. */
export const isRelativeAddress = (value: string): boolean => !/^(?:[\\/]{2}|[A-Za-z][A-Za-z0-9+.-]*:)/.test(asBrowsersRead(value))

/** Browsers ignore blanks and controls before an address, and tabs and line ends in it. */
const asBrowsersRead = (address: string) => address.replace(/[\t\n\r]+/g, '').replace(/^[\0- ]+/, '')
