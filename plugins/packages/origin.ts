import net from 'node:net'
import { briefText } from '#core/foundation/stranger-text.ts'

/** Characters of a name in DNS. */
const NAME_LENGTH_MAX = 253
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
/** Length of an address that somebody enters; the same as for requests. */
const ADDRESS_LENGTH_MAX = 4_000

/**
 * The one origin (scheme, host and port) that an address names, if a person who reads the address cannot take it for another: what stands in it is
 * what is contacted.
 * @returns the error, for the person who wrote it
 */
export function readOrigin(address: unknown): { url: URL; host: string } | { error: string } {
  const url = typeof address === 'string' && address.length <= ADDRESS_LENGTH_MAX ? URL.parse(address) : null
  if (url === null) return { error: 'It is not a URL such as https://api.example.org.' }
  const { protocol, hostname, username, password, origin } = url
  if (protocol !== 'https:' && protocol !== 'http:') return { error: 'A URL must start with https:// or http://.' }
  if (username !== '' || password !== '')
    return { error: 'A URL must not contain credentials. Enter them in the credential fields of the plugin.' }
  // It would cover hosts that nobody entered.
  if (hostname.includes('*')) return { error: `${briefText(hostname)} is not one host. Enter its full name.` }
  const host = hostname.replace(/^\[|\]$/g, '')
  if (net.isIP(host) !== 0) return { url, host }
  if (host.length > NAME_LENGTH_MAX || !host.split('.').every((label) => LABEL.test(label)))
    return { error: `${briefText(hostname)} is not the name of a host. Enter a name such as api.example.org, without a dot at its end.` }
  const [, written = ''] = /^https?:\/\/([^/?#]*)/i.exec(address as string) ?? []
  // Letters of other scripts, percent-encoding, backslashes and line breaks: the parser turns each of them into another text.
  if (written.toLowerCase().replace(/:\d*$/, '') !== hostname)
    return { error: `It stands for the host ${briefText(hostname)}. If you mean that one, enter ${briefText(origin)}.` }
  return { url, host }
}
