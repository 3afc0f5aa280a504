import type { Needs } from '#api/http/services.ts'

type Deployment = Needs<'settings'>
/** Members of a full series whose entries are named by a service. */
const NAMED_BY_SERVICE = ['externalIds', 'externalLinks', 'externalRatings'] as const

/** An identifier, link or rating as this deployment shows it: where older clients are served, its service under the name that they know, too. */
export function withSourceName<Entry extends object>({ settings }: Deployment, entry: Entry): Entry {
  return settings.compatibility.legacyNames && 'source' in entry ? { ...entry, sourceName: entry.source } : entry
}

/** All that is known of a series, its identifiers, links and ratings as {@link withSourceName} shows them. */
export function withSourceNames<Full extends object>(services: Deployment, full: Full): Full {
  if (!services.settings.compatibility.legacyNames) return full
  const lists = NAMED_BY_SERVICE.flatMap((name) => {
    const entries = (full as Record<string, unknown>)[name]
    return Array.isArray(entries) ? [[name, entries.map((entry: object) => withSourceName(services, entry))]] : []
  })
  return { ...full, ...Object.fromEntries(lists) }
}
