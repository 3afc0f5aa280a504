import net from 'node:net'
import { hostAndPort, isLocalHost, type LocalServices, NO_LOCAL_SERVICES } from '#core/settings/local-hosts.ts'
import { isGrantableAddress } from '#plugins/network/address.ts'
import type { EgressRule } from '#plugins/network/request.ts'
import { readOrigin } from '#plugins/packages/origin.ts'
import { configuredAddress, covers, type Permissions } from '#plugins/packages/permissions.ts'

/** Methods for querying a service; nothing in a configuration permits deleting. */
const CONFIGURED_METHODS = ['GET', 'POST'] as const

/** The host or wildcard of the rule that covers a host; null when none does. */
export const grantOf = (host: string, rules: readonly EgressRule[]): string | null =>
  rules.find((rule) => covers(rule.host, host))?.host ?? null

/** Whether a URL has exactly the host and port of an allowed local service. */
export const isAllowedLocal = (url: URL, local: LocalServices): boolean =>
  (url.protocol === 'http:' || url.protocol === 'https:') && isLocalHost(url.hostname) && local.has(hostAndPort(url))

/** The rule for such a URL. */
export const localRule = ({ hostname, origin }: URL, methods: readonly string[]): EgressRule => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  methods,
  origin,
  private: true,
  local: true,
})

/** How a service on this machine or in its network can be reached; empty for another, and for this server itself. */
export const localHint = (url: URL, local: LocalServices): string =>
  isLocalHost(url.hostname) && local.isSelf?.(hostAndPort(url)) !== true
    ? ` If it is a service of yours for development, start the server with --plugin-allow-local ${hostAndPort(url)}; commands follow a running server, or take the same flag.`
    : ''

/**
 * The rule for a configured URL.
 * @param privateOrigins that an administrator has granted explicitly: plain http, a port and private addresses are allowed for them, but never
 * this machine
 * @param local hosts that are allowed for development, which need no such grant
 * @returns the error in an invalid URL, for the person who entered it
 */
export function ruleOfAddress(
  address: unknown,
  { privateOrigins, local = NO_LOCAL_SERVICES }: { privateOrigins: readonly string[]; local?: LocalServices | undefined },
): { rule: EgressRule } | { error: string } {
  const read = readOrigin(address)
  if ('error' in read) return read
  const { url, host } = read
  const { protocol, hostname, port, origin } = url
  if (isAllowedLocal(url, local)) return { rule: localRule(url, CONFIGURED_METHODS) }
  if (local.isSelf?.(hostAndPort(url))) return { error: `${hostAndPort(url)} is this server itself, which plugins never reach.` }
  if (/(^|\.)localhost$/.test(host) || (net.isIP(host) !== 0 && !isGrantableAddress(host)))
    return { error: `${hostname} is this server itself, or in a network that plugins may not access.${localHint(url, local)}` }
  if (privateOrigins.includes(origin)) return { rule: { host, methods: CONFIGURED_METHODS, origin, private: true } }
  const only = `only for a host that is granted as a private host. To grant ${origin}, enter it together with privateHosts.`
  if (protocol !== 'https:') return { error: `Plain http is allowed ${only}` }
  if (port !== '') return { error: `A port is allowed ${only}` }
  if (net.isIP(host) !== 0 || !host.includes('.')) return { error: `${hostname} is not a public host name. Others are allowed ${only}` }
  return { rule: { host, methods: CONFIGURED_METHODS, origin } }
}

/**
 * The rule for a member of the configuration that names a host, as {@link ruleOfAddress}; null when nothing is entered. What was allowed when it
 * was entered may be refused by now: the server was started with other settings, or a grant has ended.
 */
export function ruleOfMember(
  key: string,
  plugin: { config: Readonly<Record<string, unknown>>; granted: Permissions | null; privateOrigins: readonly string[] },
  local: LocalServices | undefined,
): { rule: EgressRule } | { error: string } | null {
  const address = configuredAddress(key, plugin)
  if (address === undefined) return null
  const ruled = ruleOfAddress(address, { privateOrigins: plugin.privateOrigins, local })
  return 'rule' in ruled ? ruled : { error: `config/${key}: ${ruled.error}` }
}
