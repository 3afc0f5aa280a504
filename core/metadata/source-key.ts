/**
 * Under which key identifiers and ratings of a service are kept, in contexts and in the API alike: `plugin:` and the name that an installed plugin has for
 * it (`idSource` in its manifest, or the id of the plugin); `comicinfo` for what ComicInfo says; any other name as it was given.
 */

const PREFIX = 'plugin:'
/** Of identifiers that other servers' clients enter: `api:` and the service. */
const SERVICE_PREFIX = /^(?:plugin|api):/

/** What ComicInfo identifies a book by, whatever that is. */
export const COMIC_INFO_KEY = 'comicinfo'
/** The service of recommendations that are series of this library. */
export const OWN_SOURCE = 'carrel'

/** @param name `idSource` of a plugin, or its id */
export const pluginKey = (name: string): string => PREFIX + name

/** @param names those that installed plugins have for their services */
export const sourceKey = (source: string, names: ReadonlySet<string>): string => (names.has(source) ? pluginKey(source) : source)

/** The service alone, so that identifiers are found under whichever key they are kept. */
export const serviceOf = (key: string): string => key.replace(SERVICE_PREFIX, '')
