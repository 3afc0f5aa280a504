import path from 'node:path'
import t from 'tap'
import { runTestFiles } from '#plugins/devkit/test-files.ts'
import { TestingTools } from '#plugins/devkit/testing-host.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { openPluginFolder } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

t.test('a folder that cannot be written is a message and not a stack', async (t) => {
  // A file in place of the folder: root may write to every folder.
  const folder = path.join(await openPluginFolder(t), 'LICENSE')
  const built = { manifest: manifestOf() as unknown as Manifest, code: '' }
  const options = { isRecording: false, isPartial: false, local: new Set<string>(), cpuMsMax: null }
  const tools = new TestingTools({ folder, built, supervisor: findSupervisor(), ...options })
  await t.rejects(
    runTestFiles(folder, [], tools, () => {}),
    { name: 'ToolProblem', message: `${folder} cannot be written (ENOTDIR); tests are compiled into a folder of their own there` },
  )
})
