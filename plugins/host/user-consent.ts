import { BoundedCache } from '#core/foundation/bounded.ts'
import { canonicalJson } from '#plugins/consent/canonical-json.ts'
import { consentRecordOf, recordHash, type UserRecord, userRecordOf } from '#plugins/consent/record.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { UserPlugin } from '#plugins/host/user-plugin-store.ts'
import { configuredAddress, requestedPermissions } from '#plugins/packages/permissions.ts'

/** What a plugin asks of each user. */
export interface UserConsent {
  record: UserRecord
  /** SHA-256 of its canonical JSON, lower-case hex: users agree to this hash. */
  sha256: string
}

/** Records of 10 KB of all plugins in use. Making one takes longer than a short call. */
const KNOWN_BYTES_MAX = 2 * 1024 * 1024
const known = new BoundedCache<UserConsent>({ bytesMax: KNOWN_BYTES_MAX })

export function userConsentOf(plugin: InstalledPlugin): UserConsent {
  const configuredHosts = configuredHostsOf(plugin)
  const key = canonicalJson([plugin.versionId, plugin.signedBy, plugin.repository, configuredHosts])
  const before = known.get(key)
  if (before !== undefined) return before
  const record = userRecordOf(consentRecordOf(plugin), configuredHosts)
  const consent = { record, sha256: recordHash(record) }
  known.set(key, consent)
  return consent
}

function configuredHostsOf({ manifest, config, granted }: InstalledPlugin): Record<string, string | null> {
  const asked = granted ?? requestedPermissions(manifest)
  return Object.fromEntries(
    asked.networkFromConfig.map((key) => {
      const address = configuredAddress(key, { config, granted: asked })
      return [key, typeof address === 'string' && URL.canParse(address) ? new URL(address).origin : null]
    }),
  )
}

/**
 * Why a plugin must not run for a user who has it; null when it may. `changed`: it asks for something else than the user has agreed to.
 * `data`: the user's data is of an earlier version, and is migrated when the user enables it.
 */
export function pauseOf(plugin: InstalledPlugin, own: UserPlugin): 'disabled' | 'changed' | 'data' | null {
  if (!own.enabled) return 'disabled'
  if (own.agreedSha256 !== userConsentOf(plugin).sha256) return 'changed'
  return own.dataVersion < plugin.dataVersion ? 'data' : null
}
