import dns from 'node:dns/promises'
import net from 'node:net'
import os from 'node:os'
import ipaddr from 'ipaddr.js'

/** Every name server is queried twice; a name whose servers do not respond fails long before the deadline. */
const NAME_QUERY = { timeout: 2_000, tries: 2 }
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Private networks of homes and companies; mesh networks such as Tailscale use the second. */
const PRIVATE_RANGES = new Set(['private', 'carrierGradeNat', 'uniqueLocal'])
/**
 * Metadata services of cloud providers, which give a machine its secrets, and which are not link-local: Azure's is a public address, the others
 * look like private ones.
 */
const METADATA_ADDRESSES = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2:0:0:0:0:0:254', 'fd20:ce:0:0:0:0:0:254'])

/**
 * Queries name servers, and not the system (`lookup`), which uses two threads and cannot be canceled: names that never resolve would block
 * every connection of the server that needs a name. It would also try `host.local.domain` for `host`.
 * @param servers replace those of the system
 */
export async function resolveName(host: string, signal: AbortSignal, servers?: readonly string[]): Promise<string[]> {
  const resolver = new dns.Resolver(NAME_QUERY)
  if (servers) resolver.setServers(servers)
  const stop = () => resolver.cancel()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Null for addresses with a zone, which are link-local, and for unusual spellings, which do not come from a resolver. */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (net.isIP(address) === 0 || address.includes('%')) return null
  const parsed = ipaddr.parse(address)
  return METADATA_ADDRESSES.has(parsed.toNormalizedString()) ? null : parsed
}

const isPublic = (parsed: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  // The library calls everything unicast that is not special; of IPv6 only one eighth is allocated.
  parsed.range() === 'unicast' && (parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST))

/** Only addresses of the public internet: neither this machine nor its networks, in no spelling. */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && isPublic(parsed)
}

/** Public addresses, and those of private networks, which an administrator may grant. Never this machine, nor link-local addresses. */
export function isGrantableAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && (isPublic(parsed) || PRIVATE_RANGES.has(parsed.range()))
}

/** Includes this machine: only for hosts that the operator of the server has named explicitly. Never metadata services. */
export function isLocalAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && (parsed.range() === 'loopback' || PRIVATE_RANGES.has(parsed.range()))
}

type Interfaces = Record<string, readonly { address: string }[] | undefined>

/** The addresses of this machine, through which its database and other services would be reachable. */
export function isOwnAddress(address: string, interfaces: Interfaces = os.networkInterfaces()): boolean {
  const wanted = ipaddr.parse(address).toNormalizedString()
  const own = Object.values(interfaces).flatMap((addresses) => addresses ?? [])
  return own.some((one) => ipaddr.isValid(one.address) && ipaddr.parse(one.address).toNormalizedString() === wanted)
}
