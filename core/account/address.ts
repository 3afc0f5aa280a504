import { isIPv4, isIPv6 } from 'node:net'

/** An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) as plain IPv4, without zone; null when the text is no address. */
export function readAddress(text: string): string | null {
  const bare = text.split('%', 1)[0] as string
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return null
  const groups = expandIPv6(bare)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  return groups.map((group) => group.toString(16)).join(':')
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

/** The eight 16-bit groups of a valid IPv6 address. */
function expandIPv6(address: string): number[] {
  // The last 32 bits may be written as IPv4.
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const text = dotted
    ? `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`
    : address
  const [head = '', tail] = text.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(gap).fill('0'), ...right].map((group) => Number.parseInt(group, 16))
}
