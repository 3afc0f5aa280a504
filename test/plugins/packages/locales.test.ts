import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { localeProblems } from '#plugins/packages/locales.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'
import { manifestOf } from '#test/support/plugins.ts'

const SETTINGS = { type: 'object', title: 'Settings', properties: { site: { type: 'string', title: 'Site', 'x-ui': { title: 'hint' } } } }
const MANIFEST = manifestOf({ config: SETTINGS, userConfig: SETTINGS })
const problemsOf = (name: string, content: unknown) =>
  localeProblems(`locales/${name}.json`, Buffer.from(JSON.stringify(content)), MANIFEST as unknown as Manifest)

t.test('all texts of a manifest that people read can be translated, and no others', (t) => {
  const texts = { summary: 'a', 'config.title': 'b', 'config.properties.site.title': 'c', 'userConfig.properties.site.title': 'd' }
  t.same(problemsOf('de', texts), [])
  for (const member of ['name', 'id', 'config.properties.site.x-ui.title', '/summary', '__proto__x', 'author.name'])
    t.match(problemsOf('de', { [member]: 'a' }), [{ isError: false, member, message: /^it is no text of manifest\.json/ }], member)
  t.match(problemsOf('de', Object.fromEntries(Array.from({ length: 301 }, (_entry, index) => [`a${index}`, 5]))), [
    { isError: true, member: '', message: 'it has 301 texts; the limit is 300' },
  ])
  t.end()
})

t.test('a package with translations that cannot be shown is refused with file and member', (t) => {
  const pack = (name: string, content: string) =>
    packPlugin(
      new Map(
        Object.entries({ 'manifest.json': JSON.stringify(MANIFEST), 'main.js': '', [`locales/${name}.json`]: content }).map(
          ([file, text]) => [file, Buffer.from(text)],
        ),
      ),
    )
  for (const [name, content, message] of [
    ['de', '{"summary":5}', 'locales/de.json at summary: must be one line of 1 to 120 readable characters; it is 5.'],
    ['de', '{"other":"\\u0007"}', 'locales/de.json at other: must be a text of at most 1000 readable characters; it is "\\u0007"'],
    ['de', '{"__proto__":"a"}', 'locales/de.json: no member may be named "__proto__".'],
    ['de', 'null', 'locales/de.json: must be an object of texts by their places in manifest.json, such as { "summary": "…" }; it is null.'],
    ['en_US', '{}', 'locales/en_US.json: "en_US" is no language; write locales/en-US.json.'],
    ['-', '{}', '"locales/-.json" is not a valid name'],
  ] as const)
    t.ok(refusalOf(() => pack(name, content)).startsWith(message), message)
  t.ok(pack('de', '{"summary":"a","of.a.newer.version":"b"}'))
  t.end()
})

function refusalOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_value') return error.message
    throw error
  }
  return 'not refused'
}
