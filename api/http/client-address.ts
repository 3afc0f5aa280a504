import { BlockList, isIPv4 } from 'node:net'
import { readAddress } from '#core/account/address.ts'

/** More hops than any chain of real proxies; the rest of a longer header is not looked at. */
const HOPS_MAX = 20

/** Tells who is at the other end, given the address of the socket and the X-Forwarded-For header. */
export interface ClientAddress {
  /** The right-most address that is not one of our proxies. */
  find(socketAddress: string, forwardedFor: string | undefined): string
  /** Whether the socket leads to one of our proxies. */
  isProxy(socketAddress: string): boolean
}

/**
 * @param trusted addresses or CIDR ranges
 * @throws Error naming the entry that is neither
 */
export function openClientAddress(trusted: readonly string[]): ClientAddress {
  const proxies = new BlockList()
  for (const entry of trusted) addRange(proxies, entry)

  const isProxy = (address: string) => proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')

  return {
    isProxy: (socketAddress) => isProxy(readAddress(socketAddress) ?? '0.0.0.0'),
    find(socketAddress, forwardedFor) {
      let address = readAddress(socketAddress)
      if (address === null) return socketAddress
      if (forwardedFor === undefined || !isProxy(address)) return address
      const hops = forwardedFor.split(',').slice(-HOPS_MAX)
      // Each proxy appends whom it heard from, so only what stands right of the first stranger is testimony of ours.
      for (const hop of hops.reverse()) {
        const before = readAddress(stripPort(hop.trim()))
        if (before === null) return address
        address = before
        if (!isProxy(address)) return address
      }
      return address
    },
  }
}

function addRange(list: BlockList, entry: string): void {
  const [text = '', bits] = entry.split('/')
  const address = readAddress(text)
  const family = address !== null && isIPv4(address) ? 'ipv4' : 'ipv6'
  const most = family === 'ipv4' ? 32 : 128
  const prefix = bits === undefined ? most : Number(bits)
  if (address === null || !/^\d{0,3}$/.test(bits ?? '') || bits === '' || prefix > most) {
    throw new Error(`"${entry}" is not an address or a CIDR range; write trusted proxies like 10.0.0.1 or 10.0.0.0/8.`)
  }
  list.addSubnet(address, prefix, family)
}

/** `1.2.3.4:80` and `[::1]:80` as some proxies write them. */
function stripPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}
