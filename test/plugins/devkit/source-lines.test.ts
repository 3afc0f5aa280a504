import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { type ManifestRefused, readValidProject } from '#plugins/devkit/project.ts'
import { positionInJson } from '#plugins/devkit/source-lines.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'

t.setTimeout(60_000)

const TEXT = `{
  "a/b": { "list": [1, "two, \\"}\\\\", { "c": null }] },
  "d" :
    true, "\\u0065": -1.5e3
}`

t.test('members of a manifest are found by their pointers', (t) => {
  for (const [pointer, position] of [
    ['', 'manifest.json'],
    ['/a~1b', 'manifest.json:2:3'],
    ['/a~1b/list', 'manifest.json:2:12'],
    ['/a~1b/list/0', 'manifest.json:2:21'],
    ['/a~1b/list/1', 'manifest.json:2:24'],
    ['/a~1b/list/2', 'manifest.json:2:38'],
    ['/a~1b/list/2/c', 'manifest.json:2:40'],
    ['/a~1b/list/2/missing/deeper', 'manifest.json:2:38'],
    ['/d', 'manifest.json:3:3'],
    ['/e', 'manifest.json:4:11'],
    ['/missing', 'manifest.json'],
  ] as const)
    t.equal(positionInJson(TEXT, pointer), position, pointer)
  t.end()
})

t.test('errors of a manifest name the line and column of their member', async (t) => {
  const folder = await openPluginFolder(t)
  const described = async (text: string): Promise<readonly string[]> => {
    await writeFile(path.join(folder, 'manifest.json'), text)
    return await readValidProject(folder).then(
      () => [],
      (error: ManifestRefused) => error.problems,
    )
  }
  const manifest = JSON.stringify(manifestOf({ id: 'plain', version: '1.0', name: undefined }), null, 2)
  const lineOf = (member: string) => manifest.split('\n').findIndex((line) => line.startsWith(`  "${member}"`)) + 1
  t.match(await described(manifest), [
    /^manifest\.json: it has no name, /,
    new RegExp(`^manifest\\.json:${lineOf('id')}:3 at /id: must be at least two words.*it is "plain"\\.$`),
    new RegExp(`^manifest\\.json:${lineOf('version')}:3 at /version: must be a semantic version`),
  ])
  t.match(await described('{\n  "id": x\n}'), [/^manifest\.json:2:9: it is not valid JSON \(Unexpected token 'x'/])
  t.match(await described('{\n  "id": "a.b",\n}'), [/^manifest\.json:2:14: it is not valid JSON/])
  t.match(await described('{\n  "id": "a.b",\n  "id": "a.c" }'), ['manifest.json:3:3: it has the member "id" twice.'])
  t.match(await described('[]'), [/^manifest\.json: must be an object with/])
  const many = JSON.stringify({ ...manifestOf(), capabilities: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`x${at}`, {}])) })
  t.match((await described(many)).at(-1), 'It has 20 more errors.')
})

t.test('every command that reads the manifest names the place of an error in it', async (t) => {
  const folder = await openPluginFolder(t, {
    files: { 'manifest.json': JSON.stringify(manifestOf({ version: '1.0', id: 'plain' }), null, 2) },
  })
  const place = /manifest\.json:\d+:3\s+at\s+\/version:\s+must\s+be\s+a\s+semantic\s+version/
  for (const words of [['test'], ['pack'], ['validate'], ['types'], ['replay', 'calls/search.json'], ['dev']]) {
    const { code, output } = await runTool(folder, words)
    t.equal(code, 1, words.join(' '))
    t.match(output, place, words.join(' '))
    t.match(output, /manifest\.json:\d+:3\s+at\s+\/id:\s+must/, words.join(' '))
    t.notMatch(output, /\n\s+at (?!\/)/, 'without a stack')
  }
})
