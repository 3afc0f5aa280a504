import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { pluginProgram } from '#plugins/host/plugin-program.ts'
import { findCode, updatePlugin } from '#plugins/host/plugin-store.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import type { Program } from '#plugins/runtime/program.ts'

/** A plugin as a program for an isolate. Each plugin has a runner of its own: what one does to its process is no other's loss. */
export const programOf = (
  { id, manifest }: Pick<InstalledPlugin, 'id' | 'manifest'>,
  code: string,
  granted?: Permissions | null,
): Program => pluginProgram({ manifest, code, place: `plugin ${id}`, methods: methodsOf(manifest), ...(granted && { granted }) })

/** The same in a process of its own, beside the version that runs: whatever it does to that process, nothing else is in it, and it ends soon after. */
export const apartFrom = (program: Program, sha256: string): Program => ({ ...program, place: `package ${sha256}`, alone: true })

/** @throws conflict where the code is not what was installed; the plugin is put into quarantine */
export async function getVerifiedCode(database: Knex, plugin: InstalledPlugin): Promise<string> {
  const { code, codeSha256 } =
    (await findCode(database, plugin.versionId)) ??
    refuse('not_found', `${plugin.key} ${plugin.version} was taken away or replaced just now.`)
  if (createHash('sha256').update(code).digest('hex') === codeSha256) return code
  const stateReason = 'Its code has been changed since it was installed.'
  await updatePlugin(database, plugin.id, { state: 'quarantined', stateReason }, { state: 'enabled', version_id: plugin.versionId })
  return refuse('conflict', `The code of ${plugin.key} has been changed since it was installed: it does not run.`)
}
