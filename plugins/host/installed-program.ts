import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { pluginProgram } from '#plugins/host/plugin-program.ts'
import { findCode, updatePlugin } from '#plugins/host/plugin-store.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import type { Program } from '#plugins/runtime/program.ts'

/** A plugin as a program for an isolate. Each plugin has its own runner process, so that it cannot affect others. */
export const programOfPlugin = (
  { id, manifest }: Pick<InstalledPlugin, 'id' | 'manifest'>,
  code: string,
  granted?: Permissions | null,
): Program => pluginProgram({ manifest, code, place: `plugin ${id}`, methods: methodsOf(manifest), ...(granted && { granted }) })

/** The same in a separate process beside the running version: the process contains nothing else and ends soon afterwards. */
export const apartFrom = (program: Program, sha256: string): Program => ({ ...program, place: `package ${sha256}`, alone: true })

/** @throws conflict when the code differs from what was installed; the plugin is then quarantined */
export async function getVerifiedCode(database: Knex, plugin: InstalledPlugin): Promise<string> {
  const { code, codeSha256 } =
    (await findCode(database, plugin.versionId)) ?? refuse('not_found', `${plugin.key} ${plugin.version} was just removed or replaced.`)
  if (createHash('sha256').update(code).digest('hex') === codeSha256) return code
  const stateReason = 'Its code has changed since it was installed.'
  await updatePlugin(database, plugin.id, { state: 'quarantined', stateReason }, { state: 'enabled', version_id: plugin.versionId })
  return refuse('conflict', `The code of ${plugin.key} has changed since it was installed, so it does not run.`)
}
