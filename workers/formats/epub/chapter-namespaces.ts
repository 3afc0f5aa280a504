import type { Attributes } from './chapter-rules.ts'

export const XHTML_NAMESPACE = 'http://www.w3.org/1999/xhtml'
const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace'
/** XML Namespaces 1.0 does not allow prefixes for these, and `xml` needs none. */
const RESERVED = new Set(['', XML_NAMESPACE, 'http://www.w3.org/2000/xmlns/'])
/** Of elements that chapters often leave without one, as HTML may. */
const DEFAULTS: Attributes = { svg: 'http://www.w3.org/2000/svg', math: 'http://www.w3.org/1998/Math/MathML' }
/** Prefixes that chapters often use without declaring them. */
const WELL_KNOWN: Attributes = { epub: 'http://www.idpf.org/2007/ops', xlink: 'http://www.w3.org/1999/xlink', ...DEFAULTS }

const NAME = /^[A-Za-z_][\w.-]*$/

/**
 * The prefixes that are declared at one place of a document. Browsers show nothing of a document with a prefix that is not declared, or with a name
 * that XML does not allow.
 */
export class Namespaces {
  readonly #uris = new Map<string, string[]>([['xml', [XML_NAMESPACE]]])

  /**
   * Enters an element. Returns its attributes in the order in which they are written, first the declarations, and the prefixes to pass to `leave`.
   * Null if the name is not allowed, or has a prefix that is not declared: its tags cannot be written.
   */
  enter(name: string, attributes: Attributes, isRoot: boolean): { attributes: [name: string, value: string][]; declared: string[] } | null {
    const declarations = new Map<string, string>()
    for (const [written, uri] of Object.entries(attributes)) {
      const prefix = written.startsWith('xmlns:') ? written.slice(6) : ''
      if (NAME.test(prefix) && !prefix.startsWith('xml') && !RESERVED.has(uri)) declarations.set(prefix, uri)
    }
    for (const prefix of [name, ...Object.keys(attributes)].map(prefixOf)) {
      const uri = Object.hasOwn(WELL_KNOWN, prefix) ? WELL_KNOWN[prefix] : undefined
      if (uri !== undefined && !declarations.has(prefix) && this.#uriOf(prefix) === undefined) declarations.set(prefix, uri)
    }
    for (const [prefix, uri] of declarations) this.#uris.set(prefix, [...(this.#uris.get(prefix) ?? []), uri])
    const declared = [...declarations.keys()]
    if (!this.#allows(name)) {
      this.leave(declared)
      return null
    }
    const uri =
      isRoot && name === 'html' ? XHTML_NAMESPACE : (attributes.xmlns ?? (Object.hasOwn(DEFAULTS, name) ? DEFAULTS[name] : undefined))
    const first: [string, string][] = uri === undefined || RESERVED.has(uri) ? [] : [['xmlns', uri]]
    return {
      attributes: [
        ...first,
        ...[...declarations].map(([prefix, of]): [string, string] => [`xmlns:${prefix}`, of]),
        ...this.#allowed(attributes),
      ],
      declared,
    }
  }

  leave(declared: readonly string[]): void {
    for (const prefix of declared) this.#uris.get(prefix)?.pop()
  }

  #uriOf(prefix: string): string | undefined {
    return this.#uris.get(prefix)?.at(-1)
  }

  /** Names with two prefixes of one namespace are the same name. */
  #allowed(attributes: Attributes): [string, string][] {
    const seen = new Set<string>()
    return Object.entries(attributes).filter(([name]) => {
      const prefix = prefixOf(name)
      if (name === 'xmlns' || prefix === 'xmlns' || !this.#allows(name)) return false
      const expanded = `${prefix && this.#uriOf(prefix)} ${name.slice(name.indexOf(':') + 1)}`
      return !seen.has(expanded) && seen.add(expanded)
    })
  }

  #allows(name: string): boolean {
    const prefix = prefixOf(name)
    if (prefix === '') return NAME.test(name)
    return this.#uriOf(prefix) !== undefined && NAME.test(prefix) && NAME.test(name.slice(prefix.length + 1))
  }
}

const prefixOf = (name: string): string => (name.includes(':') ? name.slice(0, name.indexOf(':')) : '')
