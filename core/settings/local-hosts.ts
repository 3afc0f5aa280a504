import net from 'node:net'

/** The services on this machine or in its network that plugins and repositories may use, by host and port (`localhost:8600`). Off if empty. */
export interface LocalServices {
  has(address: string): boolean
  /** Whether it is an address of this server itself, which is never allowed. */
  isSelf?(address: string): boolean
}

export const NO_LOCAL_SERVICES: LocalServices = { has: () => false }

/** This machine, and private networks. */
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
 * Whether a host is `localhost` or an address of this machine or its network. No other name is accepted: others control its address, and
 * may change.
 * @param host as in a URL, IPv6 in brackets
 */
export function isLocalHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  const family = net.isIP(bare)
  // BlockList treats IPv4-mapped IPv6 addresses as IPv4; here only the plain spelling is accepted.
  if (family === 0 || bare.startsWith('::ffff:')) return host === 'localhost'
  return LOCAL.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/** Whether HOST:PORT is this server, as far as that is known before it listens. */
export function namesServer(address: string, { host, port }: { host: string; port: number }): boolean {
  const at = address.lastIndexOf(':')
  const named = address.slice(0, at).replace(/^\[|\]$/g, '')
  return address.slice(at + 1) === String(port) && (named === host || named === 'localhost' || named === '::1' || named.startsWith('127.'))
}

/** The allowed services of a server that listens there. */
export function localServices(allowed: readonly string[], server: { host: string; port: number }): LocalServices {
  const known = new Set(allowed)
  return { has: (address) => known.has(address), isSelf: (address) => namesServer(address, server) }
}

/** Host and port of a URL, with the default port of its scheme. */
export const hostAndPort = ({ hostname, protocol, port }: URL): string =>
  `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`

const ADDRESS = /^(\[[0-9a-fA-F:]{2,39}\]|[A-Za-z0-9.-]{1,100}):(\d{1,5})$/

/** Parses HOST:PORT, as {@link hostAndPort} writes it; null when it is no such address. */
export function readLocalAddress(text: string): string | null {
  const [, host = '', port = ''] = ADDRESS.exec(text) ?? []
  const url = host === '' || Number(port) < 1 || Number(port) > 65_535 ? null : URL.parse(`http://${host}:${port}`)
  return url !== null && isLocalHost(url.hostname) ? hostAndPort(url) : null
}

/** For messages about an invalid address. */
export const LOCAL_ADDRESS_ABOUT = 'HOST:PORT, where HOST is localhost or an address of this machine or its network, such as localhost:8600'
