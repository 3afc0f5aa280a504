import { changePreference, preferencesQuery } from '#api/preferences.ts'
import { Problem } from '#api/problem.ts'
import { viewTexts } from '#texts/views.ts'

/** A list with its conditions and order, under a name. */
export interface SavedView {
  id: string
  name: string
  kind: 'series' | 'books'
  /** Null for all libraries. */
  libraryId: string | null
  /** The query of the address of the list, without `?`. */
  search: string
  isPinned: boolean
}

const KEY = 'web.views'
/** More would fill a menu, and the 64 KB of a preference. */
export const VIEWS_MAX = 100

export const viewsQuery = { ...preferencesQuery, select: (kept: ReadonlyMap<string, unknown>) => readViews(kept.get(KEY)) }

export const changeViews = (change: (views: readonly SavedView[]) => readonly SavedView[]): Promise<void> =>
  changePreference(KEY, (value) => {
    const views = change(readViews(value))
    if (views.length > VIEWS_MAX) throw new Problem(viewTexts.tooMany({ max: VIEWS_MAX }), { status: 0 })
    return { views }
  })

/** An id that no other view of the user has. Not crypto.randomUUID, which browsers lack over plain HTTP. */
export const newViewId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(9))].map((byte) => byte.toString(36).padStart(2, '0')).join('')

/** Leaves out what is no view. */
function readViews(value: unknown): SavedView[] {
  const views = (value as { views?: unknown } | null)?.views
  return Array.isArray(views) ? views.filter(isView) : []
}

function isView(value: unknown): value is SavedView {
  if (typeof value !== 'object' || value === null) return false
  const { id, name, kind, libraryId, search, isPinned } = value as Record<string, unknown>
  return (
    [id, name, search].every((each) => typeof each === 'string') &&
    (kind === 'series' || kind === 'books') &&
    (libraryId === null || typeof libraryId === 'string') &&
    typeof isPinned === 'boolean'
  )
}
