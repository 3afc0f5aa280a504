import { parse } from 'tldts'

/** By the list of public suffixes, with those of hosters: below `github.io` everybody has a name. */
const suffixOf = (host: string) => parse(host, { allowPrivateDomains: true, extractHostname: false }).publicSuffix

/**
 * Whether a rule covers names of people who have nothing to do with each other: everything below `co.uk` or `github.io`. What nobody has
 * registered, as `*.lan`, is one too.
 * @param host of a rule: a name, or everything below one with `*.` in front
 */
export function isTooWide(host: string): boolean {
  if (!host.startsWith('*.')) return false
  const above = host.slice(2)
  return suffixOf(above) === above
}
