import { CREDENTIAL_FIELDS, destinationOf, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { Plugins } from '#plugins/host/plugins.ts'
import { configuredAddress } from '#plugins/packages/permissions.ts'

/** What an administrator must enter before the functions of a plugin can work. */
export interface PluginNeeds {
  /** Members of the configuration that have no value. */
  config: string[]
  /** Why addresses in the configuration may not be contacted: sentences, each with its member. */
  addresses: string[]
  /** Where the missing credentials go, such as `https://api.example.org`; undefined when none are missing. */
  credentialsFor?: string | null
}

/** The fields of credentials that an administrator enters: all, or those of the app at which users sign in. */
export function administratorFields(auth: PluginAuth): readonly string[] {
  if (auth === undefined) return []
  if (auth.scope === 'user') return auth.type === 'oauth2' ? ['clientId', 'clientSecret'] : []
  return CREDENTIAL_FIELDS[auth.type]
}

export async function needsOf(
  plugins: Pick<Plugins, 'authOf' | 'authStatus' | 'areCredentialsElsewhere' | 'addressProblems'>,
  plugin: InstalledPlugin,
): Promise<PluginNeeds> {
  const { manifest, config } = plugin
  const { required = [], properties = {} } = (manifest.config ?? {}) as {
    required?: string[]
    properties?: Record<string, { default?: unknown }>
  }
  const unset = required.filter((name) => !Object.hasOwn(config, name) && properties[name]?.default === undefined)
  const hosts = (manifest.permissions?.networkFromConfig ?? []).filter((key) => configuredAddress(key, plugin) === undefined)
  const auth = plugins.authOf(plugin)
  return {
    config: [...new Set([...hosts, ...unset])],
    addresses: plugins.addressProblems(plugin),
    ...((await areMissing(plugins, plugin, auth)) && { credentialsFor: destinationOf(auth) }),
  }
}

/** Whether an administrator must enter credentials. */
async function areMissing(
  plugins: Pick<Plugins, 'authStatus' | 'areCredentialsElsewhere'>,
  plugin: InstalledPlugin,
  auth: PluginAuth,
): Promise<boolean> {
  if (auth === undefined || auth.problem !== undefined) return false
  // Each user enters their own. Some plugins work without a client id, with which users sign in; one that was entered is wanted.
  if (auth.scope === 'user') return await plugins.areCredentialsElsewhere(plugin)
  return (await plugins.authStatus(plugin, null)) === 'missing'
}

/** What is missing, for clients of the API: sentences after another, or nothing. */
export function describeNeeds({ key }: Pick<InstalledPlugin, 'key'>, { config, addresses, credentialsFor }: PluginNeeds): string {
  const at = `PATCH /api/v1/admin/plugins/${key}`
  return [
    ...(config.length > 0 ? [` It still needs ${config.join(', ')}: ${at} with config.`] : []),
    ...addresses.map((problem) => ` ${problem}`),
    ...(credentialsFor !== undefined
      ? [` It still needs credentials for ${credentialsFor ?? 'its service'}: ${at} with credentials.`]
      : []),
  ].join('')
}
