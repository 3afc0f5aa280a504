#!/usr/bin/env node
// @ts-check
// Creates a plugin project: `create-plugin my-plugin --template metadata-json-api`. It copies a template and fills in names. It installs nothing and has no prompts.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = path.dirname(fileURLToPath(import.meta.url))
const templates = path.join(here, 'templates')
/** The common files of all templates. */
const SHARED = '_all'
/** Prevents tools (compilers, linters, npm) from processing the template files in this folder. */
const ENDING = '.template'
/** The checkout that contains this program: then its tool and SDK are used, and `npm test` needs no installation. */
const checkout = path.resolve(here, '..', '..')
const isCheckout = fs.existsSync(path.join(checkout, 'plugins', 'devkit', 'carrel-plugin.mjs'))
/** The sandbox for tests is built for this Node and newer ones. With an older one, the project gets a Node from npm, if there is one for the system. */
const NEEDED_NODE = 24
const BROUGHT_NODE = '24.21.0'
const BROUGHT_FOR = ['linux-x64', 'linux-arm64']

const NAMES = /** @type {const} */ (['metadata-json-api', 'metadata-html', 'recommendations', 'blank'])
const ABOUT = {
  'metadata-json-api': 'finds series at a service with a JSON API',
  'metadata-html': 'finds series on the pages of a web site',
  recommendations: 'recommends what to read next, from the books of a user',
  blank: 'one function, and nothing else',
}

const isNodeOld = Number(process.versions.node.split('.')[0]) < NEEDED_NODE
const system = `${process.platform}-${process.arch}`
/** In `node_modules/.bin`, where the scripts of the plugin find it first. */
const nodePackage = BROUGHT_FOR.includes(system) ? { [`node-${system}`]: BROUGHT_NODE } : null

/** Words with hyphens, as allowed in npm and manifests. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const ID = /^[a-z0-9]+([.-][a-z0-9]+)+$/

/** The command to type: npm needs two dashes before flags that are not its own. */
const TYPED = isCheckout ? `node ${slashes(path.relative(process.cwd(), fileURLToPath(import.meta.url)))}` : 'npm create @carrel/plugin'
const HELP = `Usage: ${TYPED} <folder> ${isCheckout ? '' : '-- '}[--template <name>] [--id <id>]

Begins a plugin for Carrel in a new folder.

  --template <name>   one of these; metadata-json-api unless given
${NAMES.map((name) => `      ${name.padEnd(18)} ${ABOUT[name]}`).join('\n')}
  --id <id>           such as org.example.my-plugin, which never changes; default: org.example.<folder>`

function main() {
  const { values, positionals } = read()
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return
  }
  const [given, ...more] = positionals
  if (given === undefined) fail(`Name the folder: ${TYPED} my-plugin\n\n${HELP}`)
  if (more.length > 0) fail(`"${more[0]}" is unexpected: give only one folder.`)
  const folder = path.resolve(given)
  const name = path.basename(folder)
  if (!NAME.test(name) || name.length > 40)
    fail(`"${name}" is not a valid name for a plugin. Use lower-case words with hyphens, at most 40 letters, such as my-plugin.`)
  const id = values.id ?? `org.example.${name}`
  if (!ID.test(id) || id.length > 64) fail(`"${id}" is not a valid id. Use lower-case words with dots or hyphens, at most 64 letters.`)
  const template = NAMES.find((one) => one === values.template)
  if (template === undefined) fail(`Unknown template "${values.template}". Templates: ${NAMES.join(', ')}.`)
  if (fs.existsSync(folder) && fs.readdirSync(folder).length > 0) fail(`${folder} is not empty. Give a folder that does not exist yet.`)

  const words = {
    name,
    id,
    title: name
      .split('-')
      .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
      .join(' '),
    ...(isCheckout ? ofCheckout(slashes(path.relative(folder, checkout))) : ofPackages()),
  }
  for (const source of [SHARED, template]) copy(path.join(templates, source), folder, words)
  const shown = path.relative(process.cwd(), folder) || '.'
  process.stdout.write(
    [
      `${words.title} was created in ${shown}. Next steps:`,
      '',
      `  cd ${shown}`,
      ...(isCheckout ? [] : ['  npm install               the SDK, the tool and the compiler']),
      '  npm test                  your tests, and the conformance checks',
      '  npm run dev               try it on a page, and inspect its calls',
      '  npm run pack              make the .plugin package, for a server to install',
      '',
      ...(isCheckout
        ? [
            'For types in your editor, build the SDK once and install it:',
            '',
            `  (cd ${words.checkout} && npm run sdk)`,
            '  npm install',
            '',
          ]
        : []),
    ].join('\n'),
  )
  if (!isCheckout && isNodeOld && nodePackage === null)
    process.stderr.write(`Install Node ${NEEDED_NODE} first: the tool does not run on this version, ${process.versions.node}.\n`)
}

/** The scripts and dependencies that use the tool of the checkout. @param {string} folder of the checkout */
const ofCheckout = (folder) => ({
  checkout: folder,
  tool: `node ${folder}/plugins/devkit/carrel-plugin.mjs`,
  packages: `"@carrel/plugin-sdk": "file:${folder}/plugin-sdk"`,
})

/** All three packages are released together, with the same version. */
function ofPackages() {
  const { version } = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'))
  const packages = { '@carrel/plugin-sdk': `^${version}`, '@carrel/plugin-tool': `^${version}`, ...(isNodeOld && nodePackage) }
  const lines = Object.entries(packages).map(([name, wanted]) => `"${name}": "${wanted}"`)
  return { checkout: '', tool: 'carrel-plugin', packages: lines.join(',\n    ') }
}

function read() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't', default: 'metadata-json-api' },
        id: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    return fail(`${/** @type {Error} */ (error).message.split('.')[0]}.\n\n${HELP}`)
  }
}

/** @param {string} from @param {string} to @param {Record<string, string>} words */
function copy(from, to, words) {
  fs.mkdirSync(to, { recursive: true })
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name)
    if (entry.isDirectory()) copy(source, path.join(to, entry.name), words)
    else fs.writeFileSync(path.join(to, entry.name.replace(ENDING, '')), fill(fs.readFileSync(source, 'utf8'), words))
  }
}

/** @param {string} text @param {Record<string, string>} words */
const fill = (text, words) => text.replace(/\{\{(\w+)\}\}/g, (whole, name) => words[name] ?? whole)

/** @param {string} file */
function slashes(file) {
  return file.split(path.sep).join('/')
}

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

main()
