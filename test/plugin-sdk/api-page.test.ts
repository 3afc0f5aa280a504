import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { compile, placeSdk, ROOT, writeFiles } from '#test/support/sdk-install.ts'
import { declarationsOf, describeApi } from '../../plugin-sdk/api-page.mjs'

t.setTimeout(60_000)

const page = await readFile(path.join(ROOT, 'docs', 'plugin-api.md'), 'utf8')

t.test('the page matches the declarations of the SDK', async (t) => {
  t.equal(page, await describeApi(), 'docs/plugin-api.md is stale: run node plugin-sdk/api-page.mjs')
})

t.test('the page has every published declaration, and each compiles for authors', async (t) => {
  const folder = await placeSdk(t)
  const dist = path.join(folder, 'node_modules', '@carrel', 'plugin-sdk', 'dist')
  const blocks = new Set([...page.matchAll(/^```ts\n([\s\S]*?)\n```$/gm)].map(([, code]) => code))
  let count = 0
  for (const file of (await readdir(dist)).filter((name) => name.endsWith('.d.ts'))) {
    const text = await readFile(path.join(dist, file), 'utf8')
    const written = [...text.matchAll(/^(?:export )?(?:declare )?(?:interface|class|function|const|var|type) (\w+)/gm)].map(
      ([, name]) => name,
    )
    const found = declarationsOf(text)
    t.same([...new Set(written)], [...new Set(found.map(({ name }) => name))], `${file}: none is missing`)
    for (const { name, code } of found) t.ok(blocks.has(code), `${file}: ${name}`)
    count += found.length
  }
  t.equal(blocks.size, count, 'and nothing else')

  const modules = ['', '/text', '/html', '/xml', '/testing'].map((name) => `@carrel/plugin-sdk${name}`)
  await writeFiles(folder, [
    // Without skipLibCheck, declarations of packages are checked too.
    [
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { target: 'es2022', lib: ['es2024'], types: [], module: 'nodenext', strict: true, noEmit: true } }),
    ],
    ['all.ts', modules.map((name, index) => `export * as part${index} from '${name}'\n`).join('')],
  ])
  await t.resolves(compile(folder))
})
