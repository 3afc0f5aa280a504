import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { TYPES_FILE, typesOf } from '#plugins/devkit/types-command.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { placeSdk, run, TSC, writeFiles } from '#test/support/sdk-install.ts'

t.setTimeout(60_000)

const CONFIG = {
  type: 'object',
  description: 'Of the shelf.',
  required: ['shelf'],
  properties: {
    shelf: { type: 'string', title: 'Shelf', description: 'Its name.\nNot its place: */ stays out of it.' },
    depth: { type: 'integer', minimum: 0, maximum: 9, default: 3 },
    factor: { type: 'number', maximum: 1 },
    order: { type: 'string', enum: ['title', "the author's"] },
    sizes: { type: 'array', items: { type: 'integer', enum: [1, 2] } },
    names: { type: 'array', items: { type: 'string' }, default: [] },
    isDeep: { type: 'boolean' },
  },
}
const MANIFEST = { config: CONFIG, userConfig: { type: 'object', properties: { language: { type: 'string' } } } }

t.test('types match the schema', (t) => {
  t.equal(
    typesOf(manifestOf(MANIFEST) as Parameters<typeof typesOf>[0]),
    `// Generated from manifest.json by \`carrel-plugin types\`. Change the manifest and run it again.

/** Of the shelf. */
export interface Config {
  /**
   * Shelf
   * Its name.
   * Not its place: *\\/ stays out of it.
   */
  shelf: string
  /**
   * From 0 to 9.
   * Default: 3.
   */
  depth: number
  /** At most 1. */
  factor?: number
  order?: "title" | "the author's"
  sizes?: (1 | 2)[]
  /** Default: []. */
  names: string[]
  isDeep?: boolean
}

/** The settings of the user for whom the plugin runs. */
export interface UserConfig {
  language?: string
}
`,
  )
  t.match(typesOf(manifestOf({}) as Parameters<typeof typesOf>[0]), /export interface Config \{\n {2}\[member: string\]: never\n\}/)
  t.end()
})

t.test('the command writes them, and reports outdated ones', async (t) => {
  const folder = await openPluginFolder(t, { manifest: MANIFEST })
  t.match(await runTool(folder, ['types', '--check']), { code: 1, stdout: /is outdated/ })
  t.match(await runTool(folder, ['types']), { code: 0, stdout: /plugin-env\.d\.ts was written/ })
  t.match(await runTool(folder, ['types']), { code: 0, stdout: /already/ })
  t.match(await runTool(folder, ['types', '--check']), { code: 0 })
  const file = path.join(folder, TYPES_FILE)
  await writeFile(file, (await readFile(file, 'utf8')).replace('depth: number', 'depth: string'))
  const { code, stdout } = await runTool(folder, ['validate', '--json'])
  t.equal(code, 0, 'warnings do not fail the command')
  t.match(JSON.parse(stdout).findings, [
    { level: 'warning', check: 'manifest' },
    { level: 'warning', check: 'types' },
  ])
})

t.test('the compiler checks a plugin against them', async (t) => {
  const folder = await placeSdk(t)
  await writeFiles(folder, [
    [TYPES_FILE, typesOf(manifestOf(MANIFEST) as Parameters<typeof typesOf>[0])],
    [
      'src/main.ts',
      `import { definePlugin } from '@carrel/plugin-sdk'
import type { Config, UserConfig } from '../plugin-env.js'

export default definePlugin<Config, UserConfig>({
  setup({ config, userConfig }) {
    const shelf: string | undefined = config.shelf
    const size: 1 | 2 | undefined = config.sizes?.[0]
    const language: string | undefined = userConfig.language
    // @ts-expect-error it is a number
    const depth: string | undefined = config.depth
    // @ts-expect-error there is none
    const other = [config.other, userConfig.shelf]
    if (config.order === 'title') throw new Error([shelf, size, language, depth, other].join())
  },
})
`,
    ],
  ])
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024', '--types', '', 'src/main.ts']
  const { code, stdout } = await run(process.execPath, [TSC, ...options], folder)
  t.same([stdout, code], ['', 0])
})
