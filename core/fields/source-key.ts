/**
 * The keys of identifiers and ratings of services, in contexts and in the API: `plugin:` followed by the name that an installed plugin uses for the service
 * (`idSource` in its manifest, or the id of the plugin); `comicinfo` for the identifier in ComicInfo; any other name as given.
 */

const PREFIX = 'plugin:'
/** Clients of other servers enter identifiers with the prefix `api:` before the service. */
const SERVICE_PREFIX = /^(?:plugin|api):/

/** The key of the identifier in ComicInfo, which may be of any service. */
export const COMIC_INFO_KEY = 'comicinfo'
/** The service of recommendations that are series of this library. */
export const OWN_SOURCE = 'carrel'

/** @param name `idSource` of a plugin, or its id */
export const pluginKey = (name: string): string => PREFIX + name

/** @param names the names that installed plugins use for their services */
export const sourceKey = (source: string, names: ReadonlySet<string>): string => (names.has(source) ? pluginKey(source) : source)

/** The service without a prefix, so that identifiers are found under any of their keys. */
export const serviceOf = (key: string): string => key.replace(SERVICE_PREFIX, '')
