import { serverAddress } from '#api/client.ts'
import { Problem, readProblem } from '#api/problem.ts'
import { readerTexts } from '#texts/reader.ts'
import type { Book, Manifest } from '../records.ts'
import { noteSignedOut } from '../shared/use-return.ts'
import { knowsOldNames, plainStyles } from './plain-styles.ts'

/** A chapter as foliate's renderers take it. */
export interface TextSection {
  id: string
  linear?: 'no'
  pageSpread?: 'left' | 'right' | 'center'
  /** Of the cleaned chapter. */
  address: string
  /** Why the chapter could not be loaded the last time; null if it could. */
  problem: Problem | null
  /** Styles that the loaded chapter needs besides its own. */
  styles: string
  /** The address to show: of the chapter, or of an empty page if it cannot be loaded. */
  load(): Promise<string>
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
    sections: readingOrder.map(({ href, properties }) => sectionOf(href, `${new URL(href, root)}?${query}`, spreadOf(properties))),
    dir: progression === 'rtl' || progression === 'ltr' ? progression : undefined,
    rendition: { layout: metadata['layout'] === 'fixed' ? 'pre-paginated' : 'reflowable' },
    hrefs,
    resolve(href) {
      const address = parseAddress(href, root)
      const index = address && address.origin === root.origin ? paths.get(address.pathname) : undefined
      return address && index !== undefined ? { index, fragment: decode(address.hash.slice(1)) } : null
    },
  }
}

/** The reader says over it why there is no chapter. */
const EMPTY_PAGE = 'about:blank'

function sectionOf(id: string, address: string, spread: Pick<TextSection, 'pageSpread'>): TextSection {
  const section: TextSection = {
    ...{ id, address, problem: null, styles: '', ...spread },
    async load() {
      section.problem = await checkChapter(address)
      if (section.problem) return EMPTY_PAGE
      section.styles = knowsOldNames() ? '' : await plainStyles(await loadChapter(address).catch(() => null), address)
      return address
    },
  }
  return section
}

/** What frames show as documents. For anything else, such as a font, they offer a download and never say that it is there. */
const FRAMED = /^(?:text\/(?:html|plain|xml)|application\/(?:[^;]+\+)?xml|image\/(?:jpeg|png|gif|webp|avif|bmp|svg\+xml))(?:;|$)/

/** Why a chapter cannot be loaded: a frame would show the error as text, or nothing. The frame finds the loaded one in the cache. */
async function checkChapter(address: string): Promise<Problem | null> {
  try {
    const response = await fetch(address, { credentials: 'same-origin' })
    if (response.ok) {
      await response.blob()
      const type = response.headers.get('Content-Type') ?? ''
      return FRAMED.test(type) ? null : new Problem(readerTexts.chapterOfType({ type }), { status: response.status })
    }
    const problem = readProblem(response, await response.json().catch(() => null))
    noteSignedOut(problem)
    return problem
  } catch (error) {
    return Problem.fromNetwork(error)
  }
}

/** Null for what is no address. Not URL.parse, which Chrome has from 126 and Safari from 18. */
export const parseAddress = (href: string, base: string | URL): URL | null => (URL.canParse(href, base) ? new URL(href, base) : null)

/** The text of a chapter that is not shown; null for one that cannot be loaded or has none. */
export async function loadChapter(address: string, signal?: AbortSignal): Promise<Document | null> {
  const response = await fetch(address, { credentials: 'same-origin', ...(signal && { signal }) })
  const type = response.headers.get('Content-Type')?.split(';')[0]
  if (!response.ok || (type !== 'application/xhtml+xml' && type !== 'text/html')) return null
  return new DOMParser().parseFromString(await response.text(), type)
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
