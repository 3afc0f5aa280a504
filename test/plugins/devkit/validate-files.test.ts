import t from 'tap'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

t.test('an icon is a picture', async (t) => {
  for (const [name, text, isPicture] of [
    ['icon.png', 'hi', false],
    ['icon.png', '<svg xmlns="http://www.w3.org/2000/svg"/>', false],
    ['icon.svg', 'hi', false],
    ['icon.svg', '<html><svg/></html>', false],
    ['icon.svg', '<?xml version="1.0"?>\n<!-- of us -->\n<svg xmlns="http://www.w3.org/2000/svg"/>', true],
  ] as const) {
    const folder = await openPluginFolder(t, { files: { [name]: text } })
    const { code, stdout } = await runTool(folder, ['validate'])
    t.equal(code, isPicture ? 0 : 1, `${name}: ${text}`)
    if (!isPicture) t.match(stdout, new RegExp(`✖ error +files +${name.replace('.', '\\.')} is not an? (PNG|SVG) picture`))
  }
})

const MANIFEST = {
  permissions: { network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }], storage: { quotaKB: 16 } },
  config: { type: 'object', properties: { site: { type: 'string', title: 'Site', description: 'The site to ask' } } },
}

t.test('translations are named by a language, and are texts of the manifest', async (t) => {
  const valid = { summary: 'Antwortet', 'permissions.network.0.reason': 'Der Dienst', 'config.properties.site.title': 'Seite' }
  const several = JSON.stringify({ ...valid, 'config.properties.site.title': 'a'.repeat(101) }, null, 2)
  const cases: [name: string, text: string, error: string | null, warning?: string][] = [
    ['de', JSON.stringify(valid), null],
    ['zh-Hant-TW', '{}', null],
    ['es-419', '{}', null],
    ['de_DE', '{}', 'locales/de_DE.json: "de_DE" is no language; write locales/de-DE.json.'],
    ['e', '{}', 'locales/e.json: "e" is no language; languages are such as en or pt-BR.'],
    ['german', '{}', null, 'locales/german.json: no language "german" is known; languages are such as en or pt-BR.'],
    ['de-at', '{}', null, 'locales/de-at.json: the usual name of this language is de-AT.'],
    ['de', '{ "summary": "a", }', 'locales/de.json: it is not valid JSON ('],
    ['de', '{ "summary": "a", "summary": "b" }', 'locales/de.json: it has the member "summary" twice.'],
    [
      'de',
      '["a"]',
      'locales/de.json: must be an object of texts by their places in manifest.json, such as { "summary": "…" }; it is ["a"].',
    ],
    ['de', '{ "summary": 5 }', 'locales/de.json:1:3 at summary: must be one line of 1 to 120 readable characters; it is 5.'],
    [
      'de',
      '{ "summary": "a\\u202eb" }',
      'locales/de.json:1:3 at summary: must be one line of 1 to 120 readable characters; it is "a\\u202eb"',
    ],
    ['de', '{ "more": {} }', 'locales/de.json:1:3 at more: must be a text of at most 1000 readable characters; it is {}.'],
    ['de', several, 'locales/de.json:4:3 at config.properties.site.title: must be a text of at most 100 readable characters; it is "aaa'],
    [
      'de',
      '{ "sumary": "a" }',
      null,
      'locales/de.json:1:3 at sumary: it is no text of manifest.json, so nobody sees it (did you mean summary?).',
    ],
    [
      'de',
      '{ "hello.world": "a" }',
      null,
      'locales/de.json:1:3 at hello.world: it is no text of manifest.json, so nobody sees it; it has summary, permissions.network.0.reason, config.properties.site.title, config.properties.site.description.',
    ],
  ]
  for (const [name, text, error, warning] of cases) {
    const folder = await openPluginFolder(t, { manifest: MANIFEST, files: { [`locales/${name}.json`]: text } })
    const { code, stdout } = await runTool(folder, ['pack', '--no-types'])
    const said = stdout.replaceAll(/\s+/g, ' ')
    t.equal(code, error === null ? 0 : 1, `${name} ${text} ${said}`)
    const wanted = error === null ? warning && `! warning locales ${warning}` : `✖ error locales ${error}`
    t.ok(wanted === undefined ? !said.includes('locales') : said.includes(wanted), `${wanted}: ${said}`)
  }
})

t.test('the changelog names the version', async (t) => {
  for (const [version, changelog, warning] of [
    ['1.0.0', null, null],
    ['1.1.0', null, 'There is no CHANGELOG.md. Administrators update more readily when they see what is new.'],
    ['1.1.0', '# Changelog\n\n## 1.1.0\n\nNew.\n', null],
    ['1.1.0', '## [v1.1.0] - 2026-11-01\n\nNew.\n', null],
    [
      '1.1.0',
      '## 1.0.0\n\nNew.\n',
      'CHANGELOG.md has no heading of version 1.1.0, which manifest.json has. Write what is new for administrators below "## 1.1.0"; ',
    ],
    ['1.0.0', '# Changelog\n', 'CHANGELOG.md has no heading of version 1.0.0, which manifest.json has.'],
    ['1.1.0', '## 1.1.0\n\n## 1.0.0\n\nNew.\n', 'CHANGELOG.md says nothing of version 1.1.0, which manifest.json has.'],
  ] as const) {
    const folder = await openPluginFolder(t, { manifest: { ...MANIFEST, version }, files: { 'CHANGELOG.md': changelog } })
    for (const command of ['validate', 'pack']) {
      const { code, stdout } = await runTool(folder, [command, '--no-types'])
      const said = stdout.replaceAll(/\s+/g, ' ')
      t.equal(code, 0)
      t.ok(
        warning === null ? !said.includes('CHANGELOG') : said.includes(`! warning changelog ${warning}`),
        `${command} ${version}: ${said}`,
      )
    }
  }
})

t.test('a file that a package would have under another name is named', async (t) => {
  const files = {
    'README.md': null,
    LICENSE: null,
    'readme.md': '# Echo',
    'LICENCE.txt': 'MIT',
    'icon.jpg': 'x',
    'Changelog.md': 'x',
    'CHANGELOG.md': '## 1.0.0\n\nNew.\n',
  }
  const { code, stdout } = await runTool(await openPluginFolder(t, { manifest: MANIFEST, files }), ['validate', '--no-types'])
  const said = stdout.replaceAll(/\s+/g, ' ')
  t.equal(code, 0)
  for (const name of ['readme.md', 'LICENCE.txt', 'icon.jpg'])
    t.ok(
      said.includes(
        `! warning files ${name} is not put into the package; of such files it has README.md, CHANGELOG.md, LICENSE, icon.png, icon.svg. Rename it.`,
      ),
      said,
    )
  t.notMatch(said, 'Changelog.md')
})
