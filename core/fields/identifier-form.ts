/**
 * Identifiers as services have them in the addresses of their records: numbers, UUIDs, ISBNs, `OL45804W`, `4050-1234`, slugs and titles, in any script.
 * Services have no longer ones. Nothing in them begins another part of an address, a query or a body.
 */
const PLAIN = /^[\p{L}\p{N}_-][\p{L}\p{M}\p{N} ._~:-]{0,99}$/u

/**
 * Whether a plugin can put an identifier that it did not write itself into an address without asking for something else: an "identifier" such as
 * `../account/delete?confirm=1` would be a request with the rights of whoever reads it.
 */
export const isPlainIdentifier = (id: string): boolean => PLAIN.test(id)

/** The identifiers that plugins may read, by source. */
export const plainIdentifiers = (ids: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(ids).filter(([, id]) => isPlainIdentifier(id)))
