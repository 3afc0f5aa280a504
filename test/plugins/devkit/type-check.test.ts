import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { checkTypes } from '#plugins/devkit/type-check.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { placeSdk, ROOT } from '#test/support/sdk-install.ts'

t.setTimeout(240_000)

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2024'],
    types: [],
    module: 'esnext',
    moduleResolution: 'bundler',
    strict: true,
    noEmit: true,
  },
  include: ['src', 'test'],
})
const WRONG = `import { definePlugin } from '@carrel/plugin-sdk'

const limit: number = 'ten'

export default definePlugin({
  metadata: { series: { search: () => ({ results: [] }), get: ({ externalId }) => ({ externalId, title: String(limit) }) } },
})
`

/** A folder as after `npm install`. */
async function openTypedFolder(t: Test, main: string, manifest = {}): Promise<string> {
  const folder = await openPluginFolder(t, { manifest, files: { 'src/main.ts': main, 'tsconfig.json': TSCONFIG } })
  const installed = await placeSdk(t)
  await mkdir(path.join(folder, 'node_modules', '@carrel'), { recursive: true })
  await symlink(path.join(installed, 'node_modules', '@carrel', 'plugin-sdk'), path.join(folder, 'node_modules', '@carrel', 'plugin-sdk'))
  await symlink(path.join(ROOT, 'node_modules', 'typescript'), path.join(folder, 'node_modules', 'typescript'))
  return folder
}

t.test('wrong types fail test, validate and pack, with file and line', async (t) => {
  const folder = await openTypedFolder(t, WRONG)
  const error = /src\/main\.ts:3:7: Type 'string' is not assignable to\s+type 'number'\. \(TS2322\)/
  const tested = await runTool(folder, ['test'])
  t.match(tested, { code: 1, stdout: error })
  t.match(tested.stdout, /✖ \d+ passed, (\d+ skipped, )?1 type error\n$/)
  for (const command of ['validate', 'pack']) t.match(await runTool(folder, [command]), { code: 1, stdout: error }, command)
  for (const command of ['test', 'validate', 'pack'])
    t.match(await runTool(folder, [command, '--no-types']), { code: 0, stdout: /Types were not checked: --no-types\./ }, command)
})

t.test('types of the author need no cast, and settings with a default are there', async (t) => {
  const folder = await openTypedFolder(
    t,
    `import { type Context, definePlugin, type LibraryPage } from '@carrel/plugin-sdk'

interface Book { id: string; year?: number; parts: Book[] }
interface Config { depth: number; shelf?: string }

export async function readAll(ctx: Context<Config>): Promise<number> {
  let count = 0
  let cursor: string | null = null
  do {
    const page: LibraryPage = await ctx.library.entries({ cursor })
    count += page.entries.length
    cursor = page.nextCursor
  } while (cursor !== null)
  return count
}
const helper = (ctx: Context): string => typeof ctx.config['depth']

export default definePlugin<Config>({
  metadata: {
    series: {
      search: () => ({ results: [] }),
      async get({ externalId }, ctx) {
        const book: Book = { id: externalId, parts: [] }
        await ctx.storage.set('book', book)
        await ctx.storage.set('books', [book])
        await ctx.storage.set('none', null)
        ctx.log.info('kept', book)
        ctx.log.info(helper(ctx))
        // @ts-expect-error JSON keeps no functions
        await ctx.storage.set('run', { run: () => 1 })
        // @ts-expect-error nothing is not stored
        await ctx.storage.set('undefined', undefined)
        const depth: number = ctx.config.depth
        // @ts-expect-error it may be missing
        const shelf: string = ctx.config.shelf
        const other: string | undefined = book.year === undefined ? undefined : String(book.year + depth)
        return { externalId, title: shelf, externalIds: { other } }
      },
    },
  },
})
`,
    { permissions: { storage: { quotaKB: 16 } } },
  )
  t.match(await runTool(folder, ['test', '--no-conformance']), { code: 0, stdout: /✔ 0 passed\n$/ })
})

t.test('types that are not checked are said to be so', async (t) => {
  const folder = await openPluginFolder(t)
  t.match(await runTool(folder, ['test']), { code: 0, stdout: /Types were not checked: there is no tsconfig\.json\./ })
  const bare = await openPluginFolder(t, { files: { 'tsconfig.json': TSCONFIG } })
  t.match(await runTool(bare, ['test']), { code: 0, stdout: /Types were not checked: TypeScript is not installed[\s\S]*npm install/ })
})

t.test('a check that was stopped is no pass', async (t) => {
  const folder = await openTypedFolder(t, WRONG)
  const entry = { file: 'src/main.ts', isBuilt: false }
  t.same(await checkTypes({ folder, entry }, AbortSignal.abort()), { errors: [], leftOut: 'stopped.' })
})

t.test('a tsconfig.json that does not include the code is an error', async (t) => {
  const folder = await openTypedFolder(t, WRONG)
  const { compilerOptions } = JSON.parse(TSCONFIG) as { compilerOptions: object }
  await writeFile(path.join(folder, 'tsconfig.app.json'), TSCONFIG)
  await writeFile(path.join(folder, 'other.ts'), 'export {}\n')
  for (const config of [
    { files: [], references: [{ path: './tsconfig.app.json' }] },
    { compilerOptions, files: ['other.ts'] },
  ]) {
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(config))
    for (const command of ['test', 'pack']) {
      const { code, stdout } = await runTool(folder, [command])
      t.equal(code, 1, stdout)
      t.ok(
        stdout
          .replaceAll(/\s+/g, ' ')
          .includes(
            'tsconfig.json does not include src/main.ts, so nothing checks its types. Give it "include": ["src", "test"]; projects that "references" names are not checked.',
          ),
        stdout,
      )
    }
  }
})

t.test('an error of types has no advice to add types of what the sandbox does not have', async (t) => {
  const folder = await openTypedFolder(t, `${WRONG.replace("'ten'", 'Number(process.env.X)')}console.log(Buffer)\n`)
  const { code, stdout } = await runTool(folder, ['validate'])
  t.equal(code, 1)
  const said = stdout.replaceAll(/\s+/g, ' ')
  for (const message of [
    "Cannot find name 'process': the sandbox does not have it. Use ctx.config for settings of the administrator. (TS",
    "Cannot find name 'console': the sandbox does not have it. Use ctx.log. (TS",
    "Cannot find name 'Buffer': the sandbox does not have it. Use Uint8Array, and strings. (TS",
  ])
    t.ok(said.includes(message), said)
  t.notMatch(said, /@types|target library/)
})
