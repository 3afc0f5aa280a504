import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import type { Source } from '#core/fields/field.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { listApplications } from '#core/matching/application-store.ts'
import type { StoredRecord } from '#core/metadata/metadata-record-store.ts'

/** Where the values of a record come from. */
interface Origins {
  sources: Record<string, Source>
  /** The identifiers of the plugins that gave fields of the source `plugin`, as far as the record of applications goes back. */
  sourcePlugins: Record<string, string>
}

/**
 * The source of each field of a record, and its plugin. Plugins also confirm values that were there before, which then stay when files are read again; such a value
 * has the source that gave it.
 */
export async function findOrigins(
  database: Knex,
  kind: Kind,
  id: string,
  { values, sources }: Pick<StoredRecord, 'values' | 'sources'>,
): Promise<Origins> {
  const origins: Origins = { sources: { ...sources } as Record<string, Source>, sourcePlugins: {} }
  const given = Object.keys(sources).filter((name) => sources[name] === 'plugin')
  if (given.length === 0) return origins
  const roles = new Set(fieldsOf(kind).flatMap(({ name, role }) => (role === undefined ? [] : [name])))
  const applications = await listApplications(database, kind, id)
  for (const name of given) {
    const member = roles.has(name) ? 'authors' : name
    for (const { pluginKey, changes } of applications) {
      const change = changes.values[member]
      if (change === undefined || !(name in change.sources) || !isDeepStrictEqual(change.after, values[member] ?? null)) continue
      if (!isDeepStrictEqual(change.before, change.after)) origins.sourcePlugins[name] = pluginKey
      else if (change.sources[name]) origins.sources[name] = change.sources[name]
      break
    }
  }
  return origins
}
