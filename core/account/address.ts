import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) as plain IPv4, without zone; null when the text is no address. */
export function readAddress(text: string): string | null {
  const bare = text.split('%', 1)[0] as string
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return null
  // The library takes ::10.0.0.1 for IPv4-mapped as well, unless it begins with a number.
  return ipaddr.process(bare.replace(/^::(?=\d+\.)/, '0::')).toNormalizedString()
}

/**
 * What counts as one client: an IPv4 address, or a /64 of IPv6, because a household or machine is assigned one and may choose
 * any address in it. A text that is no address is its own group.
 */
export function addressGroup(address: string): string {
  const plain = readAddress(address)
  if (plain === null) return address
  return isIPv4(plain) ? plain : `${plain.split(':').slice(0, 4).join(':')}::/64`
}
