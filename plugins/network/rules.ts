import net from 'node:net'
import { isLocalHost, type LocalServices, NO_LOCAL_SERVICES, placeOf } from '#core/settings/local-places.ts'
import { isGrantableAddress } from '#plugins/network/address.ts'
import type { EgressRule } from '#plugins/network/request.ts'

/** An address that an administrator enters; as long as that of a request. */
const ADDRESS_LENGTH_MAX = 4_000
/** What a service that reads and answers needs; nothing in a configuration says that something there may be deleted. */
const CONFIGURED_METHODS = ['GET', 'POST'] as const

/** Whether an address is at a place that was named, by exactly that host and port. */
export const isAllowedLocal = (url: URL, local: LocalServices): boolean =>
  (url.protocol === 'http:' || url.protocol === 'https:') && isLocalHost(url.hostname) && local.has(placeOf(url))

/** The rule for such an address. */
export const localRule = ({ hostname, origin }: URL, methods: readonly string[]): EgressRule => ({
  ...{ host: hostname.replace(/^\[|\]$/g, ''), methods, origin },
  ...{ private: true, local: true },
})

/**
 * The rule that an address of the configuration makes.
 * @param isPrivate whether an administrator has granted this one host by itself: plain http, its port and addresses of the house are let
 * through then, but nothing of this machine
 * @param local places that are let through for development, which need not be granted as well
 * @returns what is wrong with the address where it makes none, for whoever entered it
 */
export function ruleOfAddress(
  address: unknown,
  { isPrivate, local = NO_LOCAL_SERVICES }: { isPrivate: boolean; local?: LocalServices | undefined },
): { rule: EgressRule } | { mistake: string } {
  if (typeof address !== 'string' || address.length > ADDRESS_LENGTH_MAX || !URL.canParse(address))
    return { mistake: 'It is no address such as https://api.example.org.' }
  const { protocol, hostname, username, password, port, origin } = new URL(address)
  if (protocol !== 'https:' && protocol !== 'http:') return { mistake: 'An address starts with https:// or http://.' }
  if (username !== '' || password !== '') return { mistake: 'An address holds no credentials; enter them where the plugin asks for them.' }
  const bare = hostname.replace(/^\[|\]$/g, '')
  if (isAllowedLocal(new URL(address), local)) return { rule: localRule(new URL(address), CONFIGURED_METHODS) }
  if (/(^|\.)localhost\.?$/.test(hostname) || (net.isIP(bare) !== 0 && !isGrantableAddress(bare)))
    return { mistake: `${hostname} is this server itself, or of no network where a plugin may go.` }
  if (isPrivate) return { rule: { host: bare, methods: CONFIGURED_METHODS, origin, private: true } }
  const only = 'only where a host is granted by itself as one of the house'
  if (protocol !== 'https:') return { mistake: `Plain http is let through ${only}.` }
  if (port !== '') return { mistake: `A port is let through ${only}.` }
  if (net.isIP(bare) !== 0 || !bare.includes('.'))
    return { mistake: `${hostname} is no name of the public internet; others are let through ${only}.` }
  return { rule: { host: bare, methods: CONFIGURED_METHODS, origin } }
}
