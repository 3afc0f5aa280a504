import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { DOCS_FILES, findDocsFile } from '#api/docs/files.ts'
import { DOCS_PAGE } from '#api/docs/page.ts'

t.test('every file that the page asks for is there', async (t) => {
  const asked = [...DOCS_PAGE.matchAll(/"docs\/([^"]+)"/g)].map(([, name]) => name)
  t.same(asked.sort(), DOCS_FILES.flatMap(({ name }) => name || []).sort())
})

t.test('files of the package are sent as they lie there, read once', async (t) => {
  for (const file of DOCS_FILES) {
    const [first, second] = await Promise.all([findDocsFile(file), findDocsFile(file)])
    t.equal(first, second)
    if (first.kind !== 'bytes') throw new Error('bytes')
    t.ok(gunzipSync(first.gzipped ?? '').equals(first.bytes as Buffer))
    if (!file.name.startsWith('swagger-ui')) continue
    t.ok(readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file.name}`))).equals(first.bytes as Buffer), file.name)
  }
})

t.test('what could not be read is read anew for the next', async (t) => {
  let tries = 0
  const file = {
    name: 'late.css',
    mediaType: 'text/css',
    read: async () => {
      tries += 1
      if (tries === 1) throw new Error('no such file')
      return Buffer.from('body {}')
    },
  }
  await t.rejects(findDocsFile(file), /no such file/)
  t.match(await findDocsFile(file), { kind: 'bytes', mediaType: 'text/css' })
})

t.test('the package brings no telemetry', async (t) => {
  const { name } = JSON.parse(readFileSync(new URL('../../../node_modules/@scarf/scarf/package.json', import.meta.url), 'utf8'))
  t.equal(name, '@favware/skip-dependency', 'overrides of package.json put it in the place of @scarf/scarf')
})
