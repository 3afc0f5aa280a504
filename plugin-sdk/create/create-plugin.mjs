#!/usr/bin/env node
// @ts-check
// Creates a plugin project: `create-plugin my-plugin --template metadata-json-api`. It copies a template and fills in names, and installs nothing. On a terminal it
// asks for what the command line does not say.
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
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
const TOOL = 'plugins/devkit/carrel-plugin.mjs'
const isCheckout = fs.existsSync(path.join(checkout, TOOL))
/** The sandbox for tests is built for this Node and newer ones. With an older one, the project gets a Node from npm, if there is one for the system. */
const NEEDED_NODE = 24
const BROUGHT_NODE = '24.21.0'
const BROUGHT_FOR = ['linux-x64', 'linux-arm64']

/** What each template does, and the address of its service where it has one. @type {Record<string, { about: string, from: string | null }>} */
const TEMPLATES = {
  'metadata-json-api': { about: 'finds series at a service with a JSON API and a key', from: 'https://api.example.org/v1' },
  'metadata-html': { about: 'finds series on the pages of a web site', from: 'https://www.example.org' },
  'recommendations-library': { about: "recommends unread series of the user's own library", from: null },
  'recommendations-service': { about: 'recommends series that a service finds similar', from: 'https://api.example.org/v1' },
  blank: { about: 'one function, and nothing else', from: null },
}
const NAMES = Object.keys(TEMPLATES)
const FIRST_NAME = 'my-plugin'

const isNodeOld = Number(process.versions.node.split('.')[0]) < NEEDED_NODE
const system = `${process.platform}-${process.arch}`
/** In `node_modules/.bin`, where the scripts of the plugin find it first. */
const nodePackage = BROUGHT_FOR.includes(system) ? { [`node-${system}`]: BROUGHT_NODE } : null

/** Words with hyphens, as allowed in npm and manifests. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const ID = /^[a-z0-9]+([.-][a-z0-9]+)+$/
/** What the server says of another id in a manifest. */
const ID_FORM =
  'must be at least two words of lower-case ASCII letters and digits, with a dot or hyphen between them, such as org.example.anilist'

/** What codes of the system mean where the code alone does not say it. @type {Record<string, string>} */
const REASONS = {
  EACCES: 'your user has no permission',
  EPERM: 'your user has no permission',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is a file',
}

/** The command to type: npm needs two dashes before flags that are not its own. */
const TYPED = isCheckout
  ? `node ${quoted(slashes(path.relative(process.cwd(), fileURLToPath(import.meta.url))))}`
  : 'npm create @carrel/plugin'
const HELP = `Usage: ${TYPED} <folder> ${isCheckout ? '' : '-- '}[--template <name>] [--id <id>] [--from <address>]

Begins a plugin for Carrel in a new folder. On a terminal it asks for what you do not give.

  --template <name>   one of these; ${NAMES[0]} unless given
${NAMES.map((name) => `      ${name.padEnd(24)} ${TEMPLATES[name]?.about}`).join('\n')}
  --id <id>           such as org.example.my-plugin, which never changes; default: org.example.<folder>
  --from <address>    where the service is, such as https://api.example.org/v1
  --packages <place>  folder or address of the tarballs of the SDK and the tool, before they are published`

/** @typedef {{ folder: string, name: string, id: string, template: string, from: string }} Wanted */

async function main() {
  const { values, positionals } = read()
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return
  }
  if (positionals.length > 1) fail(`"${positionals[1]}" is unexpected: give only one folder.`)
  const given = { folder: positionals[0], template: values.template, from: values.from }
  for (const problem of [
    given.folder && problemOfFolder(given.folder),
    given.template && problemOfTemplate(given.template),
    values.id !== undefined && problemOfId(values.id),
  ])
    if (problem) fail(problem)
  const asked = process.stdin.isTTY && process.stdout.isTTY ? await askFor(given) : given
  if (asked.folder === undefined) fail(`Name the folder: ${TYPED} ${FIRST_NAME}\n\n${HELP}`)
  const { folder: place, template = /** @type {string} */ (NAMES[0]) } = asked
  const name = path.basename(path.resolve(place))
  const id = values.id ?? `org.example.${name}`
  const standard = TEMPLATES[template]?.from ?? null
  if (asked.from !== undefined && standard === null) fail(`The template ${template} has no service: leave out --from.`)
  const problem = asked.from && problemOfAddress(asked.from)
  if (problem) fail(problem)
  const folder = path.resolve(place)
  try {
    begin({ folder, name, id, template, from: asked.from ?? standard ?? '' }, values.packages)
  } catch (error) {
    const { code, path: file = folder } = /** @type {NodeJS.ErrnoException} */ (error)
    // Of the system; any other error is one of this program.
    if (code === undefined) throw error
    fail(`${file} cannot be written (${fileReason(error)}). Give another folder.`)
  }
}

/** @param {Wanted} wanted @param {string | undefined} packages */
function begin({ folder, name, id, template, from }, packages) {
  const words = {
    name,
    id,
    title: name
      .split('-')
      .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
      .join(' '),
    ...(from && { address: new URL(from).href.replace(/\/$/, ''), host: new URL(from).hostname }),
    ...(isCheckout ? ofCheckout(slashes(path.relative(folder, checkout))) : ofPackages(folder, packages)),
  }
  for (const source of [SHARED, template]) copy(path.join(templates, source), folder, words)
  const shown = quoted(path.relative(process.cwd(), folder) || '.')
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
            `  (cd ${quoted(words.checkout)} && npm run sdk)`,
            '  npm install',
            '',
          ]
        : []),
    ].join('\n'),
  )
  if (!isCheckout && isNodeOld && nodePackage === null)
    process.stderr.write(`Install Node ${NEEDED_NODE} first: the tool does not run on this version, ${process.versions.node}.\n`)
}

/** @param {string} given @returns {string | null} what is wrong */
function problemOfFolder(given) {
  const folder = path.resolve(given)
  const name = path.basename(folder)
  if (!NAME.test(name) || name.length > 40)
    return `"${name}" is not a valid name for a plugin. Use lower-case words with hyphens, at most 40 letters, such as ${FIRST_NAME}.`
  try {
    const found = fs.statSync(folder, { throwIfNoEntry: false })
    if (found === undefined) return null
    if (!found.isDirectory()) return `${folder} is a file. Give a folder that does not exist yet.`
    return fs.readdirSync(folder).length === 0 ? null : `${folder} is not empty. Give a folder that does not exist yet.`
  } catch (error) {
    return `${folder} cannot be read (${fileReason(error)}). Give another folder.`
  }
}

/** @param {string} given @returns {string | null} what is wrong */
function problemOfId(given) {
  if (!ID.test(given)) return `The id ${ID_FORM}; it is "${given}".`
  if (given.length > 64) return `The id may have at most 64 characters; "${given}" has ${given.length}.`
  // `validate` also finds ids that only look like these.
  return /^carrel[.-]/.test(given)
    ? `"${given}" is an id below carrel., which only plugins have that come with the server. Servers refuse it. Choose another, such as org.example.${given.split('.').at(-1)}.`
    : null
}

/** @param {string} given */
const problemOfTemplate = (given) => (NAMES.includes(given) ? null : `Unknown template "${given}". Templates: ${NAMES.join(', ')}.`)

/** @param {string} given @returns {string | null} what is wrong */
function problemOfAddress(given) {
  const url = URL.canParse(given) ? new URL(given) : null
  const isPlain = url?.protocol === 'https:' && url.port === '' && url.username === '' && url.search === '' && url.hash === ''
  // The manifest names a host, neither this machine nor an address of numbers; quotes would end the text in the code.
  if (url !== null && isPlain && /\.[a-z][a-z0-9-]*$/i.test(url.hostname) && !/['\\]/.test(url.href)) return null
  return `"${given}" is not an address of a service, such as https://api.example.org/v1: https, the name of a host, and perhaps a path.`
}

/**
 * Asks the questions that the command line has left open.
 * @param {{ folder: string | undefined, template: string | undefined, from: string | undefined }} given
 */
async function askFor({ folder, template, from }) {
  const lines = createInterface({ input: process.stdin })
  const answers = lines[Symbol.asyncIterator]()
  /** @param {string} question @param {string} standard @param {(answer: string) => string | null} problemOf */
  const ask = async (question, standard, problemOf) => {
    for (;;) {
      process.stdout.write(`${question} [${standard}]: `)
      const { value, done } = await answers.next()
      if (done) return fail('\nNothing was created.')
      const answer = value.trim() || standard
      const problem = problemOf(answer)
      if (problem === null) return answer
      process.stdout.write(`${problem}\n`)
    }
  }
  try {
    if (template === undefined) {
      process.stdout.write(NAMES.map((name, at) => `  ${at + 1}  ${name.padEnd(24)} ${TEMPLATES[name]?.about}\n`).join(''))
      const named = (/** @type {string} */ answer) => NAMES[Number(answer) - 1] ?? answer
      template = named(await ask('What does it do? A number or a name', '1', (answer) => problemOfTemplate(named(answer))))
    }
    folder ??= await ask('What is its name? Lower-case words with hyphens', FIRST_NAME, problemOfFolder)
    const standard = TEMPLATES[template]?.from ?? null
    if (standard !== null) from ??= await ask('Where does it get its data from?', standard, problemOfAddress)
    return { folder, template, from }
  } finally {
    lines.close()
  }
}

/** The scripts and dependencies that use the tool of the checkout. @param {string} folder of the checkout */
const ofCheckout = (folder) => ({
  checkout: folder,
  // Scripts of npm run in a shell of the system; quotes of this kind work in all of them.
  tool: inJson(`node ${/^[\w@%+=:,./-]+$/.test(folder) ? `${folder}/${TOOL}` : `"${folder}/${TOOL}"`}`),
  packages: `"@carrel/plugin-sdk": "${inJson(`file:${folder}/plugin-sdk`)}"`,
})

/** All three packages are released together, with the same version. @param {string} folder @param {string | undefined} place of the others */
function ofPackages(folder, place) {
  const { version } = JSON.parse(fs.readFileSync(path.join(here, 'package.json'), 'utf8'))
  const beside = place === undefined ? findPlace(version) : URL.canParse(place) ? `${place.replace(/\/?$/, '')}/` : path.resolve(place)
  /** @param {string} name */
  const wanted = (name) => (beside === null ? `^${version}` : addressOf(beside, `carrel-${name}-${version}.tgz`, folder))
  const packages = {
    '@carrel/plugin-sdk': wanted('plugin-sdk'),
    '@carrel/plugin-tool': wanted('plugin-tool'),
    ...(isNodeOld && nodePackage),
  }
  const lines = Object.entries(packages).map(([name, one]) => `"${name}": "${inJson(one)}"`)
  return { checkout: '', tool: 'carrel-plugin', packages: lines.join(',\n    ') }
}

/**
 * The folder or the address of the tarball from which npm has installed this program, which the other packages are beside; null for a registry.
 * @param {string} version
 */
function findPlace(version) {
  const root = path.resolve(here, '..', '..', '..')
  const own = `carrel-create-plugin-${version}.tgz`
  try {
    const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'node_modules', '.package-lock.json'), 'utf8'))
    const resolved = String(packages['node_modules/@carrel/create-plugin'].resolved)
    if (!resolved.endsWith(own)) return null
    const place = resolved.slice(0, -own.length)
    return place.startsWith('file:') ? path.resolve(root, decodeURIComponent(place.slice('file:'.length))) : place
  } catch {
    return null
  }
}

/** @param {string} place @param {string} file @param {string} folder that will depend on it */
function addressOf(place, file, folder) {
  if (/^https?:/.test(place)) return `${place}${file}`
  const absolute = path.join(place, file)
  if (!fs.existsSync(absolute))
    fail(`${absolute} is missing: the three packages belong into one folder. Build them in a checkout: npm run packages`)
  return `file:${slashes(path.relative(folder, absolute))}`
}

function read() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        id: { type: 'string' },
        from: { type: 'string' },
        packages: { type: 'string' },
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

/** As a word of a command line. @param {string} word */
function quoted(word) {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Within a JSON string. @param {string} text */
function inJson(text) {
  return JSON.stringify(text).slice(1, -1)
}

/** @param {unknown} error of the file system */
function fileReason(error) {
  const { code = 'unknown' } = /** @type {NodeJS.ErrnoException} */ (error)
  return Object.hasOwn(REASONS, code) ? `${code}: ${REASONS[code]}` : code
}

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

await main()
