import type { LocalServices } from '#core/settings/local-hosts.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { checkAddress, type EgressRule } from '#plugins/network/request.ts'
import { ruleOfMember } from '#plugins/network/rules.ts'
import { linkUrlsOf } from '#plugins/packages/manifest.ts'
import { configuredAddress } from '#plugins/packages/permissions.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** What decides where a plugin may send requests. */
export type Granted = Pick<InstalledPlugin, 'granted' | 'config'> & { privateOrigins: readonly string[] }

/** The rules of all requests for a plugin, its own and those for pictures that it names; none before it was granted anything. */
export const requestRules = ({ granted, config, privateOrigins }: Granted, local: LocalServices | undefined): EgressRule[] =>
  granted === null
    ? []
    : [
        ...granted.network,
        ...granted.networkFromConfig.flatMap((key) => {
          const ruled = ruleOfMember(key, { config, granted, privateOrigins }, local)
          return ruled !== null && 'rule' in ruled ? [ruled.rule] : []
        }),
      ]

/** Why configured addresses may not be contacted now, each with its origin. */
export const refusedAddresses = (
  { granted, config, privateOrigins }: Granted,
  local: LocalServices | undefined,
): { origin: string | undefined; problem: string }[] =>
  (granted?.networkFromConfig ?? []).flatMap((key) => {
    const ruled = ruleOfMember(key, { config, granted, privateOrigins }, local)
    const origin = URL.parse(String(configuredAddress(key, { config, granted })))?.origin
    return ruled !== null && 'error' in ruled ? [{ origin, problem: ruled.error }] : []
  })

/** The hosts of links in answers: those that the plugin may contact, and those of its web links. Links are only opened. */
export function linkRules(plugin: Granted & Pick<InstalledPlugin, 'manifest'>, local: LocalServices | undefined): EgressRule[] {
  const { capabilities } = plugin.manifest
  const hosts = [...linkUrlsOf(capabilities).map(({ hostname }) => hostname), ...(capabilities.webLinks?.hosts ?? [])]
  const rules = [...requestRules(plugin, local), ...(plugin.granted === null ? [] : hosts.map((host) => ({ host })))]
  return rules.map((rule) => ({ ...rule, methods: ['GET'] }))
}

/**
 * The address as every program reads it, if a rule covers it; else the host and why not. What is not an address of the web has the host ''.
 */
export function checkedAddress(address: string, rules: readonly EgressRule[]): { href: string } | { host: string; problem: string } {
  const url = URL.parse(address)
  if (url === null) return { host: '', problem: 'is not a URL' }
  try {
    checkAddress({ url, method: 'GET', headers: {}, body: undefined, strayed: false }, rules)
    return { href: url.href }
  } catch (error) {
    if (error instanceof GuestError) return { host: url.hostname, problem: error.message }
    throw error
  }
}
