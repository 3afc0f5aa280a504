import { api, ask } from '#api/client.ts'
import { Problem } from '#api/problem.ts'
import { type Kept, keepSettings, type Level, type Levels } from './levels.ts'

/** The two readers keep their settings apart. */
export type SettingsKind = 'pages' | 'text'

interface Preference<Settings> {
  global: Partial<Settings>
  series: Kept<Settings>
  books: Kept<Settings>
}

type Read<Settings> = (value: unknown) => Partial<Settings>

const keyOf = (kind: SettingsKind) => `web.reader.${kind}`

async function load<Settings>(kind: SettingsKind, signal?: AbortSignal): Promise<Preference<Settings>> {
  const empty: Preference<Settings> = { global: {}, series: {}, books: {} }
  try {
    const { value } = await ask(
      api.GET('/api/v1/user/preferences/{key}', { params: { path: { key: keyOf(kind) } }, ...(signal && { signal }) }),
    )
    // Whatever else stands there, of another version or by another program, is as if nothing stood there.
    return typeof value === 'object' && value !== null ? { ...empty, ...(value as Partial<Preference<Settings>>) } : empty
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return empty
    throw error
  }
}

/** The chosen settings of a book, by level. Nothing is chosen when they cannot be loaded: a book can be read without them. */
export async function loadLevels<Settings extends object>(
  kind: SettingsKind,
  of: { bookId: string; seriesId: string; read: Read<Settings>; signal: AbortSignal },
): Promise<Levels<Settings>> {
  const kept = await load<Settings>(kind, of.signal).catch(() => null)
  return { global: of.read(kept?.global), series: of.read(kept?.series?.[of.seriesId]), book: of.read(kept?.books?.[of.bookId]) }
}

/** Saves the levels that changed; what other tabs chose for other books stays. */
export async function saveLevels<Settings extends object>(
  kind: SettingsKind,
  of: { bookId: string; seriesId: string },
  { levels, changed }: { levels: Levels<Settings>; changed: ReadonlySet<Level> },
): Promise<void> {
  const kept = await load<Settings>(kind)
  const value: Preference<Settings> = {
    global: changed.has('global') ? levels.global : kept.global,
    series: changed.has('series') ? keepSettings(kept.series, of.seriesId, levels.series) : kept.series,
    books: changed.has('book') ? keepSettings(kept.books, of.bookId, levels.book) : kept.books,
  }
  await ask(api.PUT('/api/v1/user/preferences/{key}', { params: { path: { key: keyOf(kind) } }, body: { value } }))
}
