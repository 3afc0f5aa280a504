import { parse } from 'tldts'

/** By the public suffix list, with its private part: anybody can have a subdomain of `github.io`. */
const suffixOf = (host: string) => parse(host, { allowPrivateDomains: true, extractHostname: false }).publicSuffix

/**
 * Whether a rule covers domains of unrelated owners, such as everything below `co.uk` or `github.io`. Unregistered suffixes, such as `*.lan`,
 * count too.
 * @param host of a rule: a name, or all subdomains of one with `*.` in front
 */
export function isTooWide(host: string): boolean {
  if (!host.startsWith('*.')) return false
  const above = host.slice(2)
  return suffixOf(above) === above
}
