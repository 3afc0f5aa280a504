import { quotedText } from '#core/foundation/stranger-text.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'

export type PluginState = 'waiting' | 'enabled' | 'disabled' | 'quarantined' | 'revoked'

/** What differs between the versions of a plugin, with all that administrators and users consent to. */
export interface PluginVersion {
  versionId: string
  version: string
  sha256: string
  manifest: Manifest
  signedBy: string[]
  /** The address of the repository that the version came from; null for a file. */
  repository: string | null
  installedAt: Date
}

/** A stored plugin, with the running version, or the newest when none runs yet. */
export interface InstalledPlugin extends PluginVersion {
  id: string
  key: string
  state: PluginState
  stateReason: string | null
  granted: Permissions | null
  config: Record<string, unknown>
  /** Origins in the configuration that may be in the private network. */
  privateOrigins: string[]
  matching: MatchingSettings
  dataVersion: number
  /** Successful calls left until the version is trusted; 0 when it is. */
  probationCalls: number
  previousVersionId: string | null
  breaker: unknown
  lastSuccessAt: Date | null
  /** Null until an administrator has granted a version its permissions. */
  runningVersionId: string | null
  readme: string | null
  createdAt: Date
  updatedAt: Date
}

/** Plugins with made-up answers: used only when a request names them. */
const TEST_TOOLS = ['carrel.echo']
export const isTestTool = ({ key }: Pick<InstalledPlugin, 'key'>): boolean => TEST_TOOLS.includes(key)

/** A verb that follows the name of a plugin with a version that needs no consent: it may be disabled. */
export const describeRunning = ({ state }: Pick<InstalledPlugin, 'state'>): string => (state === 'enabled' ? 'runs' : `is ${state}`)

/** Why a plugin runs for nobody. The reasons of the server and of repositories are for administrators. */
export function stopWords({ state, manifest }: Pick<InstalledPlugin, 'state' | 'manifest'>): string {
  const name = quotedText(manifest.name)
  if (state === 'disabled') return `An administrator has disabled ${name}. It runs again when an administrator enables it.`
  if (state === 'quarantined')
    return `The server has stopped ${name}, because it failed. It runs again when an administrator resets and enables it, or installs a newer version.`
  if (state === 'revoked') return `${name} is revoked and must not run.`
  return `${name} waits for the consent of an administrator.`
}
