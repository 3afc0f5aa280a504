import { BlockList, isIPv4 } from 'node:net'
import { readAddress } from '#core/account/address.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'

/** More hops than any real chain of proxies has; the rest of a longer header is ignored. */
const HOPS_MAX = 20
/** Some 1,000 addresses of sockets, with whether they are proxies. */
const ADDRESSES_BYTES_MAX = 400 * 1024

/** Finds the address of the client from the address of the socket and the X-Forwarded-For header. */
export class ClientAddress {
  readonly #proxies = new BlockList()
  /** Cached, because every request asks several times. */
  readonly #known = new BoundedCache<boolean>({ bytesMax: ADDRESSES_BYTES_MAX })

  /**
   * @param trusted addresses or CIDR ranges
   * @throws Error with the entry that is neither
   */
  constructor(trusted: readonly string[]) {
    for (const entry of trusted) addRange(this.#proxies, entry)
  }

  /** Whether the socket belongs to a trusted proxy. */
  isProxy(socketAddress: string): boolean {
    const before = this.#known.get(socketAddress)
    if (before !== undefined) return before
    const answer = this.#isTrusted(readAddress(socketAddress) ?? '0.0.0.0')
    this.#known.set(socketAddress, answer)
    return answer
  }

  /** The right-most address that is not a trusted proxy. */
  find(socketAddress: string, forwardedFor: string | undefined): string {
    let address = readAddress(socketAddress)
    if (address === null) return socketAddress
    if (forwardedFor === undefined || !this.#isTrusted(address)) return address
    const hops = forwardedFor.split(',').slice(-HOPS_MAX)
    // Each proxy appends the address that it saw, so only the entries right of the first untrusted address can be trusted.
    for (const hop of hops.reverse()) {
      const before = readAddress(stripPort(hop.trim()))
      if (before === null) return address
      address = before
      if (!this.#isTrusted(address)) return address
    }
    return address
  }

  #isTrusted(address: string): boolean {
    return this.#proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  }
}

function addRange(list: BlockList, entry: string): void {
  const [text = '', bits] = entry.split('/')
  const address = readAddress(text)
  const family = address !== null && isIPv4(address) ? 'ipv4' : 'ipv6'
  const most = family === 'ipv4' ? 32 : 128
  const prefix = bits === undefined ? most : Number(bits)
  if (address === null || !/^\d{0,3}$/.test(bits ?? '') || bits === '' || prefix > most) {
    throw new Error(`"${entry}" is not an address or a CIDR range. Write trusted proxies like 10.0.0.1 or 10.0.0.0/8.`)
  }
  list.addSubnet(address, prefix, family)
}

/** Accepts `1.2.3.4:80` and `[::1]:80`, which some proxies send. */
function stripPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}
