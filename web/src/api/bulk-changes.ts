/** Names that many books or series get and lose. */
export interface NameChange {
  addTags: readonly string[]
  removeTags: readonly string[]
  addGenres: readonly string[]
  removeGenres: readonly string[]
}

/** The parts of a change as the API takes them; those that change nothing are left out. */
export function nameParts({
  addTags,
  removeTags,
  addGenres,
  removeGenres,
}: NameChange): { of: 'tags' | 'genres'; add: string[]; remove: string[] }[] {
  const parts = [
    { of: 'tags' as const, add: [...addTags], remove: [...removeTags] },
    { of: 'genres' as const, add: [...addGenres], remove: [...removeGenres] },
  ]
  return parts.filter(({ add, remove }) => add.length + remove.length > 0)
}

/** Sharing tags by their ids: what series get, and what they lose. */
export type SharingChange = ReadonlyMap<string, 'put' | 'take'>

/** The tags of a series after a change. */
export function sharedAfter(before: readonly string[], change: SharingChange): string[] {
  const put = [...change].flatMap(([id, what]) => (what === 'put' ? [id] : []))
  return [...new Set([...before, ...put])].filter((id) => change.get(id) !== 'take')
}
