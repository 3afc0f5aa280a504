import net from 'node:net'

/** Services on this machine or in its network that plugins and repositories may be at, by their places (`localhost:8600`). Off is none. */
export interface LocalServices {
  has(place: string): boolean
}

export const NO_LOCAL_SERVICES: LocalServices = { has: () => false }

/** This machine, and the networks of a house and of a company. */
const LOCAL = new net.BlockList()
for (const [address, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  LOCAL.addSubnet(address, bits, 'ipv4')
LOCAL.addAddress('::1', 'ipv6')
LOCAL.addSubnet('fc00::', 7, 'ipv6')

/**
 * Whether a host is `localhost` or an address of this machine or its network. No other name is one: where it leads is for others to say, and may be
 * elsewhere tomorrow.
 * @param host as it stands in an address, IPv6 in brackets
 */
export function isLocalHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  const family = net.isIP(bare)
  // BlockList takes addresses of IPv4 in the spelling of IPv6 for those of IPv4; here only the one spelling is one.
  if (family === 0 || bare.startsWith('::ffff:')) return host === 'localhost'
  return LOCAL.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/** The place of an address, with the port that it has by itself. */
export const placeOf = ({ hostname, protocol, port }: URL): string =>
  `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`

const PLACE = /^(\[[0-9a-fA-F:]{2,39}\]|[A-Za-z0-9.-]{1,100}):(\d{1,5})$/

/** What somebody names as HOST:PORT, in the spelling of {@link placeOf}; null where it is no such place. */
export function readLocalPlace(text: string): string | null {
  const [, host = '', port = ''] = PLACE.exec(text) ?? []
  const url = host === '' || Number(port) < 1 || Number(port) > 65_535 ? null : URL.parse(`http://${host}:${port}`)
  return url !== null && isLocalHost(url.hostname) ? placeOf(url) : null
}

/** For messages about what is none. */
export const LOCAL_PLACE_ABOUT = 'HOST:PORT, where HOST is localhost or an address of this machine or its network, such as localhost:8600'
