import type { SavedView } from '#api/views.ts'
import { type BrowseAddress, type BrowseKind, changeAddress } from '../browse-address.ts'

/** What makes a list another one; a look alone does not. */
const CONTENT = ['show', 'genre', 'tag', 'person', 'publisher', 'language', 'format', 'year', 'q', 'where'] as const
const KEPT = [...CONTENT, 'sort', 'view', 'columns'] as const

/** The query that shows a list again, without `?`. */
export function searchOfView(address: BrowseAddress): string {
  return changeAddress('', Object.fromEntries(KEPT.map((name) => [name, address[name]]))).slice(1)
}

export function hrefOfView({ kind, libraryId, search }: Pick<SavedView, 'kind' | 'libraryId' | 'search'>): string {
  if (libraryId === null) return `/${kind}?${search}`
  return `/libraries/${encodeURIComponent(libraryId)}?${kind === 'books' ? 'of=books&' : ''}${search}`
}

/** The saved view that is shown, if it is one. */
export function viewOf(
  views: readonly SavedView[],
  { kind, libraryId, address }: { kind: BrowseKind; libraryId: string | null; address: BrowseAddress },
): SavedView | null {
  const shown = contentOf(new URLSearchParams(searchOfView(address)))
  const isShown = (view: SavedView) =>
    view.kind === kind && view.libraryId === libraryId && contentOf(new URLSearchParams(view.search)) === shown
  return views.find(isShown) ?? null
}

const contentOf = (said: URLSearchParams): string => JSON.stringify(CONTENT.map((name) => said.get(name)))
