import { changePreference, preferencesQuery } from '#api/preferences.ts'

const KEY = 'web.home'

/** How the user has arranged the home page: anything, as a preference can be. */
export const homeOrderQuery = { ...preferencesQuery, select: (kept: ReadonlyMap<string, unknown>): unknown => kept.get(KEY) }

export const saveHomeOrder = (order: { order: readonly string[]; hidden: readonly string[] }): Promise<void> =>
  changePreference(KEY, () => order)
