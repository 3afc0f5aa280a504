import { importsOf, plainNames } from './plain-names.ts'

/** What old books say with the names of EPUB 3.0 or of WebKit: how vertical text is written. */
const PROPERTIES = [
  ...['writing-mode', 'text-orientation', 'text-combine-upright'],
  ...['text-emphasis-style', 'text-emphasis-color', 'text-emphasis-position'],
]

/** Of a chapter, with what they import: books have a handful, and a hostile one must not ask for thousands. */
const SHEETS_MAX = 32

/** Whether this browser reads the old names; Firefox does not. */
export const knowsOldNames = (): boolean => CSS.supports('-epub-writing-mode', 'vertical-rl')

/** What the styles of a chapter say about the writing, with plain names. @param address of the chapter */
export async function plainStyles(chapter: Document | null, address: string): Promise<string> {
  if (!chapter) return ''
  const used = 'style, link[rel~="stylesheet"]:not([rel~="alternate"])'
  const sheets = Array.from(chapter.querySelectorAll(used))
  const read = new Set<string>()
  const rules = await Promise.all(
    sheets.map((sheet) => {
      const href = sheet.getAttribute('href')
      return href === null ? withImports(sheet.textContent ?? '', address, read) : loadRules(href, address, read)
    }),
  )
  const elements = Array.from(chapter.querySelectorAll('[style*="-writing-mode"]'), (element) => element.getAttribute('style') ?? '')
  const inline = [...new Set(elements)].map((style) => rulesOf(`[style="${CSS.escape(style)}"] { ${style} }`))
  return [...rules, ...inline].join('\n')
}

/** @param base of the address @param read the addresses that were read, which are not read again */
async function loadRules(href: string, base: string, read: Set<string>): Promise<string> {
  const address = URL.canParse(href, base) ? new URL(href, base) : null
  if (address?.origin !== location.origin || read.has(address.href) || read.size >= SHEETS_MAX) return ''
  read.add(address.href)
  // Without it the text is written as before.
  const response = await fetch(address, { credentials: 'same-origin' }).catch(() => null)
  return response?.ok ? withImports(await response.text(), address.href, read) : ''
}

async function withImports(styles: string, base: string, read: Set<string>): Promise<string> {
  const before = await Promise.all(importsOf(styles).map((href) => loadRules(href, base, read)))
  return [...before, rulesOf(styles)].join('\n')
}

function rulesOf(styles: string): string {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(plainNames(styles))
  return writingRules(sheet.cssRules)
}

/** Rules about the writing alone, because they come after all others of the chapter. */
const writingRules = (rules: CSSRuleList): string =>
  Array.from(rules, (rule) => {
    if (rule instanceof CSSMediaRule) return `@media ${rule.conditionText} { ${writingRules(rule.cssRules)} }`
    if (!(rule instanceof CSSStyleRule)) return ''
    const said = PROPERTIES.flatMap((name) => {
      const value = rule.style.getPropertyValue(name)
      return value ? `${name}: ${value}${rule.style.getPropertyPriority(name) && ' !important'};` : []
    })
    return said.length > 0 ? `${rule.selectorText} { ${said.join(' ')} }` : ''
  }).join('\n')

/** A style sheet after all others of a document. */
export function addSheet(doc: Document): CSSStyleSheet {
  const sheet = new (doc.defaultView as Window & typeof globalThis).CSSStyleSheet()
  doc.adoptedStyleSheets = [...doc.adoptedStyleSheets, sheet]
  return sheet
}
