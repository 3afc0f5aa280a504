import { XmlDocument, XmlElement } from 'libxml2-wasm'

const ELEMENTS =
  /^(script|iframe|frame|frameset|object|embed|applet|base|form|input|button|select|textarea|template|param|portal|handler|listener)$/i
const ATTRIBUTES = /^(on.*|srcdoc|formaction|action|ping|target|manifest|nonce|attributionsrc|http-equiv|base)$/i
/** As browsers read addresses. */
const FOREIGN = /^([\\/]{2}|[a-z][a-z0-9+.-]*:)/i

/**
 * What a browser would find in a document that may run, send, or contact another site. Read by libxml2, which Chromium reads XML with.
 * @throws when the document is not well-formed
 */
export function findDangers(document: Uint8Array): string[] {
  using parsed = XmlDocument.fromBuffer(document)
  return dangersIn(parsed.root)
}

function dangersIn(element: XmlElement): string[] {
  const found: string[] = []
  const name = element.name.toLowerCase()
  if (ELEMENTS.test(name)) found.push(`<${element.name}>`)
  const values = new Map(element.attrs.map((attribute) => [attribute.name.toLowerCase(), attribute.value]))
  if (name === 'link' && !/^\s*(alternate\s+)?stylesheet\s*$/i.test(values.get('rel') ?? ''))
    found.push(`<link rel="${values.get('rel')}">`)
  if (name === 'meta' && values.get('name')?.toLowerCase() !== 'viewport') found.push('<meta>')
  if (/^(set|animate)/.test(name) && /href|^on|src/i.test(values.get('attributename') ?? '')) found.push(`<${name}>`)
  for (const [key, value] of values) {
    if (ATTRIBUTES.test(key)) found.push(`${key} of <${element.name}>`)
    const address = value.replace(/[\t\n\r]/g, '').replace(/^[\0- ]+/, '')
    if (/^(javascript|vbscript):/i.test(address)) found.push(`${key}="${value}"`)
    const isPicture = /^(img|image)$/.test(name) && /^data:image\//i.test(address)
    const isLink = /^(a|area)$/.test(name) && /^(https?:|mailto:|tel:|[\\/]{2})/i.test(address)
    if (/^(href|src|poster|background|data|srcset)$/.test(key) && FOREIGN.test(address) && !isPicture && !isLink)
      found.push(`${key}="${value}"`)
  }
  for (let child = element.firstChild; child !== null; child = child.next) if (child instanceof XmlElement) found.push(...dangersIn(child))
  return found
}
