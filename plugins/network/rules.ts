import net from 'node:net'
import { isLocalHost, type LocalServices, NO_LOCAL_SERVICES, placeOf } from '#core/settings/local-places.ts'
import { isGrantableAddress } from '#plugins/network/address.ts'
import type { EgressRule } from '#plugins/network/request.ts'

/** Length of a configured URL; the same as for requests. */
const ADDRESS_LENGTH_MAX = 4_000
/** Methods for querying a service; nothing in a configuration permits deleting. */
const CONFIGURED_METHODS = ['GET', 'POST'] as const

/** Whether a URL has exactly the host and port of an allowed local service. */
export const isAllowedLocal = (url: URL, local: LocalServices): boolean =>
  (url.protocol === 'http:' || url.protocol === 'https:') && isLocalHost(url.hostname) && local.has(placeOf(url))

/** The rule for such a URL. */
export const localRule = ({ hostname, origin }: URL, methods: readonly string[]): EgressRule => ({
  ...{ host: hostname.replace(/^\[|\]$/g, ''), methods, origin },
  ...{ private: true, local: true },
})

/**
 * The rule for a configured URL.
 * @param isPrivate whether an administrator has granted this host explicitly: plain http, its port and private addresses are then allowed,
 * but never this machine
 * @param local hosts that are allowed for development, which need no such grant
 * @returns the error in an invalid URL, for the person who entered it
 */
export function ruleOfAddress(
  address: unknown,
  { isPrivate, local = NO_LOCAL_SERVICES }: { isPrivate: boolean; local?: LocalServices | undefined },
): { rule: EgressRule } | { error: string } {
  if (typeof address !== 'string' || address.length > ADDRESS_LENGTH_MAX || !URL.canParse(address))
    return { error: 'It is not a URL such as https://api.example.org.' }
  const { protocol, hostname, username, password, port, origin } = new URL(address)
  if (protocol !== 'https:' && protocol !== 'http:') return { error: 'A URL must start with https:// or http://.' }
  if (username !== '' || password !== '')
    return { error: 'A URL must not contain credentials. Enter them in the credential fields of the plugin.' }
  const bare = hostname.replace(/^\[|\]$/g, '')
  // It would cover hosts that nobody entered.
  if (hostname.includes('*')) return { error: `${hostname} is not one host. Enter its full name.` }
  if (isAllowedLocal(new URL(address), local)) return { rule: localRule(new URL(address), CONFIGURED_METHODS) }
  if (/(^|\.)localhost\.?$/.test(hostname) || (net.isIP(bare) !== 0 && !isGrantableAddress(bare)))
    return { error: `${hostname} is this server itself, or in a network that plugins may not access.` }
  if (isPrivate) return { rule: { host: bare, methods: CONFIGURED_METHODS, origin, private: true } }
  const only = 'only for a host that is granted as a private host'
  if (protocol !== 'https:') return { error: `Plain http is allowed ${only}.` }
  if (port !== '') return { error: `A port is allowed ${only}.` }
  if (net.isIP(bare) !== 0 || !bare.includes('.')) return { error: `${hostname} is not a public host name. Others are allowed ${only}.` }
  return { rule: { host: bare, methods: CONFIGURED_METHODS, origin } }
}
