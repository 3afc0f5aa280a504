import type { DataServices } from '#api/areas/data.ts'

type Deployment = Pick<DataServices, 'settings'>
/** Members of a full series with entries from services. */
const NAMED_BY_SERVICE = ['externalIds', 'externalLinks', 'externalRatings'] as const

/** Adds the name of the service that older clients know to an identifier, link or rating, if the settings enable it. */
export function withSourceName<Entry extends object>({ settings }: Deployment, entry: Entry): Entry {
  return settings.compatibility.legacyNames && 'source' in entry ? { ...entry, sourceName: entry.source } : entry
}

/** Adds these names to all identifiers, links and ratings of a full series. */
export function withSourceNames<Full extends object>(services: Deployment, full: Full): Full {
  if (!services.settings.compatibility.legacyNames) return full
  const lists = NAMED_BY_SERVICE.flatMap((name) => {
    const entries = (full as Record<string, unknown>)[name]
    return Array.isArray(entries) ? [[name, entries.map((entry: object) => withSourceName(services, entry))]] : []
  })
  return { ...full, ...Object.fromEntries(lists) }
}
