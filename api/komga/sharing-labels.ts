import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { addSharingTag, listSharingTags } from '#core/account/sharing-store.ts'
import { nameKey } from '#core/metadata/name.ts'

/** More than a server has. */
const LABELS_MAX = 10_000

/** The ids of sharing tags by their names, each once. Adds tags that do not exist yet. */
export async function getLabelIds(trx: Knex, caller: Caller, names: readonly string[]): Promise<string[]> {
  const { items } = await listSharingTags(trx, caller, { offset: 0, limit: LABELS_MAX })
  const known = new Map(items.map(({ id, name }) => [nameKey(name), id]))
  const ids = new Set<string>()
  for (const name of names) ids.add(known.get(nameKey(name)) ?? (await addSharingTag(trx, caller, { name })).id)
  return [...ids]
}
