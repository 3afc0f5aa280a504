import dns from 'node:dns/promises'
import net from 'node:net'
import os from 'node:os'
import ipaddr from 'ipaddr.js'

/** Every name server is asked twice; a name whose servers say nothing is given up long before the deadline. */
const NAME_QUERY = { timeout: 2_000, tries: 2 }
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Networks of a house and of a company; the second is also what mesh networks such as Tailscale give their members. */
const HOUSE_RANGES = new Set(['private', 'carrierGradeNat', 'uniqueLocal'])
/**
 * Where providers of machines tell the machine its secrets, and which no range gives away: Azure's is a public address, the others look like
 * addresses of a house. Those of the rest are link-local.
 */
const METADATA_ADDRESSES = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2:0:0:0:0:0:254', 'fd20:ce:0:0:0:0:0:254'])

/**
 * Asks name servers, and not the system (`lookup`), which has two threads for that and no way to stop: names that never resolve would hold up
 * every connection of the server that needs a name. It would also try `host.local.domain` for `host`.
 * @param servers in place of those of the system
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

/** Null for what names a zone, which is of one link, and for what is spelled unusually, which is not from a resolver. */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (net.isIP(address) === 0 || address.includes('%')) return null
  const parsed = ipaddr.parse(address)
  return METADATA_ADDRESSES.has(parsed.toNormalizedString()) ? null : parsed
}

const isPublic = (parsed: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  // The library calls everything unicast that is not special; of IPv6 only one eighth has been given out.
  parsed.range() === 'unicast' && (parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST))

/** Addresses of the public internet alone: neither this machine nor its networks, nor what reaches them in another spelling. */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && isPublic(parsed)
}

/** Those, and addresses of the networks of a house: what an administrator may grant. Never this machine, nor what is of one link. */
export function isGrantableAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && (isPublic(parsed) || HOUSE_RANGES.has(parsed.range()))
}

/** This machine too: only where the person who runs the server has named the very place. Never what tells machines their secrets. */
export function isLocalAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && (parsed.range() === 'loopback' || HOUSE_RANGES.has(parsed.range()))
}

type Interfaces = Record<string, readonly { address: string }[] | undefined>

/** A server would otherwise be reachable from within, and with it its database and whatever else listens beside it. */
export function isOwnAddress(address: string, interfaces: Interfaces = os.networkInterfaces()): boolean {
  const wanted = ipaddr.parse(address).toNormalizedString()
  const own = Object.values(interfaces).flatMap((addresses) => addresses ?? [])
  return own.some((one) => ipaddr.isValid(one.address) && ipaddr.parse(one.address).toNormalizedString() === wanted)
}
