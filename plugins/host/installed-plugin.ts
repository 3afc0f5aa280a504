import type { PluginRow } from '#plugins/host/plugin-store.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'

/** A plugin as the database keeps it, with the version that runs, or the newest where none does yet. */
export type InstalledPlugin = PluginRow<Manifest, Permissions>

/** Plugins that make up what they answer: nobody is given that who has not named them. */
const TEST_TOOLS = ['carrel.echo']
export const isTestTool = ({ key }: Pick<InstalledPlugin, 'key'>): boolean => TEST_TOOLS.includes(key)
