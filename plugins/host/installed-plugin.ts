import type { PluginRow } from '#plugins/host/plugin-store.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'

/** A stored plugin, with the running version, or the newest when none runs yet. */
export type InstalledPlugin = PluginRow<Manifest, Permissions>

/** Plugins with made-up answers: used only when a request names them. */
const TEST_TOOLS = ['carrel.echo']
export const isTestTool = ({ key }: Pick<InstalledPlugin, 'key'>): boolean => TEST_TOOLS.includes(key)

/** A verb that follows the name of a plugin with a version that needs no consent: it may be disabled. */
export const describeRunning = ({ state }: Pick<InstalledPlugin, 'state'>): string => (state === 'enabled' ? 'runs' : `is ${state}`)
