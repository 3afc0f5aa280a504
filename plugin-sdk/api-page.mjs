// @ts-check
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSdk } from './build.mjs'

/**
 * Writes docs/plugin-api.md from the declarations of the built SDK, so that the page is always correct. A test compares them.
 *
 *     node plugin-sdk/api-page.mjs
 */

const PAGE = fileURLToPath(new URL('../docs/plugin-api.md', import.meta.url))

/** Modules in the order of the page, with their files. */
const MODULES = /** @type {const} */ ([
  ['`@carrel/plugin-sdk`', 'Types and functions of plugins.', ['index', 'types', 'errors', 'external-ids']],
  [
    '`@carrel/plugin-sdk/text`',
    'Comparing titles, and parsing ISBNs, dates and languages, the same way in every plugin.',
    ['text', 'normalize-text'],
  ],
  ['`@carrel/plugin-sdk/html`', 'Parsing web pages. The module includes the parser, which runs in the sandbox.', ['html']],
  ['`@carrel/plugin-sdk/xml`', 'Parsing XML, such as feeds. The module includes the parser, which runs in the sandbox.', ['xml']],
  [
    '`@carrel/plugin-sdk/testing`',
    'The module for tests of plugins, and the format of fixture files.',
    ['testing', 'call-trace', 'assertions', 'fixtures'],
  ],
  ['The sandbox', 'Globals besides JavaScript itself: a subset of the web APIs with the same names.', ['globals']],
])

const HEAD = `# Plugin API

For authors of plugins: every declaration of \`@carrel/plugin-sdk\`. The [reference of the SDK](../plugin-sdk/REFERENCE.md) explains how to use them; the limits are in [plugin-limits.md](plugin-limits.md).

\`node plugin-sdk/api-page.mjs\` generates this page from the SDK.
`

/**
 * @typedef {{ name: string, about: string[], code: string }} Declaration
 *
 * The top-level declarations in the compiler's output, each with the comment above it.
 * @param {string} text
 * @returns {Declaration[]}
 */
export function declarationsOf(text) {
  /** @type {Declaration[]} */
  const found = []
  /** @type {string[]} */
  let comment = []
  /** @type {string[] | null} */
  let code = null
  let isComment = false
  for (const line of text.split('\n')) {
    if (code !== null) {
      code.push(line)
    } else if (isComment || line.startsWith('/**')) {
      if (!isComment) comment = []
      comment.push(line)
      isComment = !line.endsWith('*/')
      continue
    } else if (/^(export )?(declare )?(interface|type|class|function|const|var) \w/.test(line)) {
      code = [line]
    } else {
      // A comment above anything else, or with a blank line below, belongs to the file.
      comment = []
      continue
    }
    const whole = code.join('\n')
    const isClosed = whole.split(/[{[(]/).length === whole.split(/[}\])]/).length
    if (!isClosed || !(isClosed && /[;}]$|^(type|(export )?declare (function|var)) [^\n]*[^,{(]$/.test(whole))) continue
    const [, name = ''] = /(?:interface|type|class|function|const|var) (\w+)/.exec(whole) ?? []
    const last = found.at(-1)
    // The interface and the constructor of a web class are separate declarations.
    if (last?.name === name) found.splice(-1, 1, { name, about: [...last.about, ...proseOf(comment)], code: `${last.code}\n${whole}` })
    else found.push({ name, about: proseOf(comment), code: whole })
    code = null
    comment = []
  }
  return found
}

/** @param {string[]} comment @returns {string[]} its lines without comment marks */
const proseOf = (comment) =>
  comment
    .join('\n')
    .replace(/^\/\*\*\s?|\s*\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, '').trim())
    .filter((line) => line !== '')
    .map((line) => line.replace(/\{@link (\w+)\}/g, '`$1`'))

/** @param {Declaration} declaration */
function sectionOf({ name, about, code }) {
  const tagAt = about.findIndex((line) => line.startsWith('@'))
  const prose = tagAt === -1 ? about : about.slice(0, tagAt)
  const tags = tagAt === -1 ? '' : about.slice(tagAt).join(' ')
  // A tag is inline or on a line of its own.
  const [said = '', ...inline] = prose.join(' ').split(/(?=@(?:throws|returns) )/)
  const notes = [...inline, ...tags.split(/(?=@\w+ )/)].filter((note) => note.trim() !== '')
  const list = notes.map((note) => `- ${note.trim().replace(/^@(\w+) (?:(\w+) )?/, (_, tag, first) => tagText(tag, first))}`)
  return [`### ${name}`, said.trim(), list.join('\n'), `\`\`\`ts\n${code}\n\`\`\``].filter((part) => part !== '').join('\n\n')
}

/** @param {string} tag @param {string | undefined} first word behind it */
const tagText = (tag, first) =>
  tag === 'param' || tag === 'typeParam'
    ? `\`${first}\`: `
    : `${tag === 'throws' ? 'Throws' : tag === 'returns' ? 'Returns' : tag} ${first ?? ''} `

export async function describeApi() {
  const out = await mkdtemp(path.join(tmpdir(), 'carrel-api-'))
  try {
    await buildSdk(out)
    const parts = [HEAD]
    for (const [title, about, files] of MODULES) {
      const texts = await Promise.all(files.map((file) => readFile(path.join(out, `${file}.d.ts`), 'utf8')))
      const declarations = texts.flatMap(declarationsOf)
      parts.push(`## ${title}\n\n${about}\n`)
      parts.push(...declarations.map((one) => `${sectionOf(one)}\n`))
    }
    return `${parts.join('\n').trimEnd()}\n`
  } finally {
    await rm(out, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeFile(PAGE, await describeApi())
