import { parse } from 'tldts'
import * as trie from 'tldts/dist/cjs/src/data/trie.js'
import { SHARED_DOMAINS } from '#plugins/packages/shared-domains.ts'

/** By the public suffix list, with its private part: anybody can have a subdomain of `github.io`. */
const suffixOf = (host: string) => parse(host, { allowPrivateDomains: true, extractHostname: false }).publicSuffix

/** `co.uk` and `uk` for `www.co.uk`. */
const namesAbove = (name: string): string[] => {
  const labels = name.split('.')
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'))
}

/** All rules of the list, such as `co.uk` and `*.ck`. */
export function listSuffixes(): string[] {
  const { nodeFlags, edgeStart, edgeLength, edgeChild, labelText, rulesRoot } = trie
  const places = new Uint32Array(edgeLength.length)
  for (let edge = 1; edge < places.length; edge++) places[edge] = (places[edge - 1] as number) + (edgeLength[edge - 1] as number)
  const suffixes: string[] = []
  const visit = (node: number, below: string): void => {
    for (let edge = edgeStart[node] as number; edge < (edgeStart[node + 1] as number); edge++) {
      const [place, child] = [places[edge] as number, edgeChild[edge] as number]
      const name = labelText.slice(place, place + (edgeLength[edge] as number)) + below
      if (nodeFlags[child] !== 0) suffixes.push(name)
      visit(child, `.${name}`)
    }
  }
  visit(rulesRoot, '')
  return suffixes
}

/** Names with a shared domain below them, such as `amazonaws.com`, of which `s3.amazonaws.com` is one. Computed once: that takes 20 ms. */
let shared: { above: ReadonlySet<string>; domains: ReadonlySet<string> } | undefined
const sharedNames = () =>
  (shared ??= { above: new Set([...listSuffixes(), ...SHARED_DOMAINS].flatMap(namesAbove)), domains: new Set(SHARED_DOMAINS) })

/**
 * Whether a rule covers domains of unrelated owners: all names below a public suffix such as `co.uk` or `github.io`, or below a name that has one
 * below itself. Unregistered suffixes, such as `*.lan`, count too.
 * @param host of a rule: a name, or all subdomains of one with `*.` in front
 */
export function isTooWide(host: string): boolean {
  if (!host.startsWith('*.')) return false
  const base = host.slice(2)
  const { above, domains } = sharedNames()
  return suffixOf(base) === base || above.has(base) || [base, ...namesAbove(base)].some((name) => domains.has(name))
}
