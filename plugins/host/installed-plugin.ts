import type { PluginRow } from '#core/plugin/plugin-store.ts'
import type { Manifest } from '#plugins/manifest/manifest.ts'
import type { Permissions } from '#plugins/manifest/permissions.ts'

/** A plugin as the database keeps it, with the version that runs, or the newest where none does yet. */
export type InstalledPlugin = PluginRow<Manifest, Permissions>

/** Plugins that make up what they answer: nobody is given that who has not named them. */
const TEST_TOOLS = ['carrel.echo']
export const isTestTool = ({ key }: Pick<InstalledPlugin, 'key'>): boolean => TEST_TOOLS.includes(key)
