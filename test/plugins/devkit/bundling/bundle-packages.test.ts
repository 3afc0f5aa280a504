import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { bundleProject } from '#plugins/devkit/bundling/bundle.ts'
import { PluginSession } from '#plugins/devkit/plugin-session.ts'
import type { Project } from '#plugins/devkit/project.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { ROOT } from '#test/support/sdk-install.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(120_000)

/** Packages of this checkout without modules of Node, one use of each, and what it gives in the sandbox. */
const PURE: [name: string, imports: string, use: string, gives: string][] = [
  ['entities', "import { decodeHTML } from 'entities'", "decodeHTML('&eacute;')", 'é'],
  ['htmlparser2', "import { parseDocument } from 'htmlparser2'", "parseDocument('<p>a</p>').children.length", '1'],
  [
    'domutils',
    "import { textContent } from 'domutils'\nimport { parseDocument } from 'htmlparser2'",
    "textContent(parseDocument('<p>a</p>'))",
    'a',
  ],
  [
    'css-select',
    "import { selectOne } from 'css-select'\nimport { parseDocument } from 'htmlparser2'",
    "selectOne('p.b', parseDocument('<p class=b>a</p>')).name",
    'p',
  ],
  ['fast-xml-parser', "import { XMLParser } from 'fast-xml-parser'", "new XMLParser().parse('<a><b>1</b></a>').a.b", '1'],
  ['yaml', "import { parse } from 'yaml'", "parse('a: 1').a", '1'],
  ['js-yaml', "import yaml from 'js-yaml'", "yaml.load('a: 1').a", '1'],
  ['json5', "import JSON5 from 'json5'", "JSON5.parse('{a: 1}').a", '1'],
  ['ini', "import { parse } from 'ini'", "parse('a=1').a", '1'],
  ['semver', "import semver from 'semver'", "semver.gt('1.2.0', '1.1.9')", 'true'],
  ['luxon', "import { DateTime } from 'luxon'", "DateTime.fromISO('2020-02-03').year", '2020'],
  ['ms', "import ms from 'ms'", "ms('2 days')", '172800000'],
  ['lodash-es', "import { camelCase } from 'lodash-es'", "camelCase('a b')", 'aB'],
  ['lodash', "import camelCase from 'lodash/camelCase'", "camelCase('a b')", 'aB'],
  ['es-toolkit', "import { chunk } from 'es-toolkit'", 'chunk([1, 2, 3], 2).length', '2'],
  ['fast-deep-equal', "import equal from 'fast-deep-equal'", 'equal({ a: 1 }, { a: 1 })', 'true'],
  ['escape-html', "import escape from 'escape-html'", "escape('<')", '<'],
  ['escape-string-regexp', "import escape from 'escape-string-regexp'", "escape('a.b')", 'a\\.b'],
  ['js-levenshtein', "import distance from 'js-levenshtein'", "distance('kitten', 'sitting')", '3'],
  ['diff', "import { diffWords } from 'diff'", "diffWords('a b', 'a c').length", '3'],
  ['slugify', "import slugify from 'slugify'", "slugify('Crème brûlée', { lower: true })", 'creme-brulee'],
  ['marked', "import { marked } from 'marked'", "marked.lexer('## a')[0].depth", '2'],
  ['pluralize', "import pluralize from 'pluralize'", "pluralize('book', 2)", 'books'],
  ['picomatch', "import picomatch from 'picomatch'", "picomatch('*.js')('a.js')", 'true'],
  ['minimatch', "import { minimatch } from 'minimatch'", "minimatch('a.js', '*.js')", 'true'],
  ['lru-cache', "import { LRUCache } from 'lru-cache'", 'new LRUCache({ max: 2 }).max', '2'],
  ['qs', "import qs from 'qs'", 'qs.stringify({ a: [1] })', 'a%5B0%5D=1'],
  ['typebox', "import Type from 'typebox'\nimport { Check } from 'typebox/value'", "Check(Type.String(), 'a')", 'true'],
  ['base64-js', "import { toByteArray } from 'base64-js'", "toByteArray('YQ==')[0]", '97'],
  ['buffer', "import { Buffer } from 'buffer/'", "Buffer.from('a').toString('hex')", '61'],
  ['tweetnacl', "import nacl from 'tweetnacl'", 'nacl.hash(new Uint8Array(1)).length', '64'],
  ['jose', "import { base64url } from 'jose'", "base64url.encode('a')", 'YQ'],
  ['uuid', "import { validate } from 'uuid'", "validate('a')", 'false'],
  ['tldts', "import { parse } from 'tldts'", "parse('https://www.example.co.uk').domain", 'example.co.uk'],
  ['mime', "import mime from 'mime'", "mime.getType('a.png')", 'image/png'],
  ['punycode', "import punycode from 'punycode/'", "punycode.toASCII('bücher.de')", 'xn--bcher-kva.de'],
  ['emoji-regex', "import emojiRegex from 'emoji-regex'", "'a😀'.match(emojiRegex()).length", '1'],
  ['string-width', "import width from 'string-width'", "width('abc')", '3'],
  ['ufo', "import { joinURL } from 'ufo'", "joinURL('https://a.b', 'c')", 'https://a.b/c'],
  ['iconv-lite', "import iconv from 'iconv-lite'", "iconv.decode(new Uint8Array([0xe9]), 'latin1')", 'é'],
  ['re2js', "import { RE2JS } from 're2js'", "RE2JS.compile('a+').matches('aa')", 'true'],
]

t.test('popular packages without modules of Node run in the sandbox', async (t) => {
  t.ok(PURE.length >= 20)
  const folder = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(path.join(folder, 'src'))
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const project = { folder, entry: { file: 'src/main.js', isBuilt: false } } as Project
  for (const [name, imports, use, gives] of PURE) {
    const call = `({ externalId }) => ({ externalId, title: String(${use}) })`
    await writeFile(path.join(folder, 'src', 'main.js'), `${imports}\nexport default { metadata: { series: { get: ${call} } } }\n`)
    const { code, map } = await bundleProject(project)
    const manifest = manifestOf() as unknown as Manifest
    const session = new PluginSession(
      findSupervisor(),
      { manifest, code, map },
      { egress: { fetch: () => Promise.reject(new Error('No request is made.')) } },
    )
    const { answer } = await session.call('metadata.series.get', { externalId: '1' })
    session.close()
    t.match(answer, { title: gives }, name)
  }
})
