import { serverAddress } from '#api/client.ts'
import type { Book, Manifest } from '../records.ts'

/** A chapter as foliate's renderers take it. */
export interface TextSection {
  id: string
  linear?: 'no'
  pageSpread?: 'left' | 'right' | 'center'
  /** The address of the cleaned chapter. */
  load(): string
}

/** A book as foliate's renderers take it. Its chapters are addresses of the server: never the file, never copies of its parts. */
export interface TextBook {
  sections: TextSection[]
  dir: 'ltr' | 'rtl' | undefined
  rendition: { layout: 'pre-paginated' | 'reflowable' }
  /** As the manifest names them; what positions and locators say. */
  hrefs: string[]
  /** Where a link of the contents or of a chapter leads; null outside of the book. @param href of the manifest, or an absolute address */
  resolve(href: string): TextTarget | null
}

export interface TextTarget {
  index: number
  /** The id of an element, or '' for the beginning. */
  fragment: string
}

export function textBookOf(book: Book, { metadata, readingOrder }: Manifest): TextBook {
  const root = new URL(serverAddress(`api/v1/books/${book.id}/`), location.href)
  const query = new URLSearchParams({ v: book.fileHash, clean: 'true' })
  const hrefs = readingOrder.map(({ href }) => href)
  const paths = new Map(hrefs.map((href, index) => [new URL(href, root).pathname, index]))
  const progression = metadata['readingProgression']
  return {
    sections: readingOrder.map(({ href, properties }) => ({
      id: href,
      load: () => `${new URL(href, root)}?${query}`,
      ...spreadOf(properties),
    })),
    dir: progression === 'rtl' || progression === 'ltr' ? progression : undefined,
    rendition: { layout: metadata['layout'] === 'fixed' ? 'pre-paginated' : 'reflowable' },
    hrefs,
    resolve(href) {
      const address = URL.parse(href, root)
      const index = address && address.origin === root.origin ? paths.get(address.pathname) : undefined
      return address && index !== undefined ? { index, fragment: decode(address.hash.slice(1)) } : null
    },
  }
}

function spreadOf(properties: Record<string, unknown> | undefined): Pick<TextSection, 'pageSpread'> {
  const page = properties?.['page']
  return page === 'left' || page === 'right' || page === 'center' ? { pageSpread: page } : {}
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
