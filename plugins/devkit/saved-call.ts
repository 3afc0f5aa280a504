import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { didYouMean, nearestName } from '#core/foundation/nearest-name.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { briefJson } from '#core/foundation/stranger-text.ts'
import { type Fixtures, readFixtures } from '../../plugin-sdk/fixtures.ts'
import type { Json, LibraryEntry, MatchInput, SearchQuery } from '../../plugin-sdk/index.ts'
import { fileReason, ToolProblem } from './command.ts'
import { findFixtures } from './fixture-files.ts'
import { ALL_METHODS } from './plugin-session.ts'
import { typedTool } from './typed.ts'

/** A call saved in a file, for repeating it. */
export interface SavedCall {
  /** File name without extension. */
  name: string
  method: string
  input: Json
  config: Record<string, Json>
  userConfig: Record<string, Json>
  library: LibraryEntry[]
  /** Responses to its requests; null to send them to the real service. */
  fixtures: Fixtures | null
  /** The file of fixtures that it names, which may not be recorded yet; null without one. */
  fixturesName: string | null
}

export const CALLS_FOLDER = 'calls'
/** It may contain the library of a user. */
const FILE_BYTES_MAX = 20 * 1024 * 1024
const CALLS_MAX = 200

const MEMBERS = ['method', 'input', 'config', 'userConfig', 'library', 'fixtures']
/** The page of `dev` names the call, and editors the schema of a file. */
const IGNORED = ['name', '$schema']

const ENTRY_MEMBERS = Object.keys({
  seriesId: true,
  title: true,
  alternateTitles: true,
  year: true,
  genres: true,
  tags: true,
  authors: true,
  summary: true,
  language: true,
  status: true,
  addedAt: true,
  bookCount: true,
  communityRating: true,
  externalIds: true,
  rating: true,
  booksRead: true,
  booksStarted: true,
  lastReadAt: true,
  readers: true,
} satisfies Record<keyof LibraryEntry, true>)

/** What is wrong with the library of a call, also in tests; null when nothing is. */
export function problemOfLibrary(value: unknown): string | null {
  if (!Array.isArray(value)) return '"library" must be an array of series, each with a "seriesId".'
  for (const [index, entry] of value.entries()) {
    if (!isObject(entry) || typeof entry['seriesId'] !== 'string')
      return `"library" must be an array of series, and item ${index} has no "seriesId".`
    const problem = problemOfMembers(entry, ENTRY_MEMBERS)
    if (problem !== null) return `in item ${index} of "library", ${problem}`
  }
  return null
}

function problemOfMembers(given: Readonly<Record<string, unknown>>, known: readonly string[]): string | null {
  const name = Object.keys(given).find((one) => !known.includes(one))
  return name === undefined ? null : `"${name}" is unknown.${didYouMean(name, known)} Known are: ${known.join(', ')}.`
}

/** Also of calls in tests. @param given that is no method */
export function problemOfMethod(given: unknown): string {
  const ends = ALL_METHODS.filter((method) => method.endsWith(`.${given}`))
  const near = typeof given !== 'string' ? null : ends.length > 0 ? ends.join(' or ') : nearestName(given, ALL_METHODS)
  const said = given === undefined ? 'there is no "method"' : `"method" is ${briefJson(given)}`
  return near === null ? `${said}; it must be one of ${ALL_METHODS.join(', ')}.` : `${said}. Did you mean ${near}?`
}

/** The members that every input of a method has; the server sends no input without them. */
const NEEDED: Readonly<Record<string, Readonly<Record<string, 'string' | 'number'>>>> = {
  search: { query: 'string', limit: 'number' },
  get: { externalId: 'string' },
  match: { title: 'string' },
}

/** All members of the inputs; the server sends no others. */
const INPUT_MEMBERS = {
  search: Object.keys({ query: true, isbn: true, author: true, year: true, limit: true, cursor: true } satisfies Record<
    keyof SearchQuery,
    true
  >),
  get: ['externalId'],
  match: Object.keys({ title: true, alternateTitles: true, year: true, authors: true, isbn: true, externalIds: true } satisfies Record<
    keyof MatchInput,
    true
  >),
}

/** @returns what is wrong; null when nothing is */
export function problemOfInput(method: string, input: Json): string | null {
  const last = method.split('.').at(-1) as keyof typeof INPUT_MEMBERS
  const needed = method.startsWith('metadata.') ? (NEEDED[last] ?? {}) : {}
  const [first] = Object.entries(needed)
  if (first === undefined) return null
  const form = `{ ${Object.entries(needed)
    .map(([name, type]) => `"${name}": ${type === 'string' ? '"…"' : 5}`)
    .join(', ')} }`
  if (!isObject<Json>(input)) return `"input" must be an object, for ${method} such as ${form}; it is ${briefJson(input)}.`
  for (const [name, type] of Object.entries(needed)) {
    if (!Object.hasOwn(input, name)) return `"input" has no "${name}", which ${method} always gets, as in ${form}.`
    if (typeof input[name] !== type) return `"${name}" of "input" must be a ${type}; it is ${briefJson(input[name])}.`
  }
  const problem = problemOfMembers(input, INPUT_MEMBERS[last])
  return problem === null ? null : `in "input", ${problem}`
}

/** @param folder of the plugin, for its fixtures. @throws ToolProblem with what is wrong */
export async function readCall(folder: string, file: string, isRecording = false): Promise<SavedCall> {
  const shown = path.relative(folder, file)
  const wrong = (message: string): never => {
    throw new ToolProblem(`${shown}: ${message}`)
  }
  const bytes = await readFile(file).catch(async (error: NodeJS.ErrnoException) => {
    const saved = `${CALLS_FOLDER}/${path.basename(shown, '.json')}.json`
    const isThere = error.code === 'ENOENT' && saved !== shown && (await stat(path.join(folder, saved)).catch(() => null)) !== null
    return wrong(
      error.code !== 'ENOENT'
        ? `it cannot be read (${fileReason(error)}).`
        : `there is no such file.${isThere ? ` Did you mean ${saved}?` : ''}`,
    )
  })
  if (bytes.length > FILE_BYTES_MAX) wrong(`it has ${bytes.length} bytes; the limit is ${FILE_BYTES_MAX}.`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return wrong(`it is not valid JSON (${(error as Error).message}).`)
  }
  return await callOf(value, { folder, name: path.basename(file, '.json'), wrong, isRecording })
}

interface CallOptions {
  folder: string
  name: string
  /** Throws an error with its message. */
  wrong: (message: string) => never
  /** Fixtures that do not exist yet are null instead of a problem. */
  isRecording?: boolean
}

export async function callOf(value: unknown, { folder, name, wrong, isRecording = false }: CallOptions): Promise<SavedCall> {
  if (!isObject<Json>(value))
    return wrong('a call must be an object: { "method", "input", "config", "userConfig", "library", "fixtures" }.')
  if (Array.isArray(value['exchanges']))
    return wrong(`it is a file of fixtures. Give a call that names it, in ${CALLS_FOLDER}/: { "method", "input", "fixtures": "${name}" }.`)
  const problem = problemOfMembers(value, [...MEMBERS, ...IGNORED.filter((one) => Object.hasOwn(value, one))])
  if (problem !== null) return wrong(problem)
  const { method, input = null, config = {}, userConfig = {}, library = [], fixtures = null } = value
  if (typeof method !== 'string' || !ALL_METHODS.includes(method)) return wrong(problemOfMethod(method))
  const wrongInput = problemOfInput(method, input)
  if (wrongInput !== null) return wrong(wrongInput)
  const settingsIn = (name: string, given: Json): Record<string, Json> =>
    isObject<Json>(given) ? given : wrong(`"${name}" must be an object; it is ${briefJson(given)}.`)
  const wrongLibrary = problemOfLibrary(library)
  if (wrongLibrary !== null) return wrong(wrongLibrary)
  return {
    name,
    method,
    input,
    config: settingsIn('config', config),
    userConfig: settingsIn('userConfig', userConfig),
    // Checked above.
    library: library as unknown as LibraryEntry[],
    fixtures: await fixturesOf(fixtures, { folder, wrong, isRecording }),
    fixturesName: typeof fixtures === 'string' ? fixtures : null,
  }
}

async function fixturesOf(given: Json, { folder, wrong, isRecording }: Omit<CallOptions, 'name'>): Promise<Fixtures | null> {
  if (given === null) return null
  if (typeof given === 'string') {
    const name = /^(?:\.\/)?(?:fixtures\/)?(.+?)(?:\.json)?$/.exec(given)?.[1]
    if (name !== given) return wrong(`"fixtures" is the name of a file in fixtures/ alone: write "${name}" instead of "${given}".`)
    const found = await findFixtures(folder, given)
    return found === null && !isRecording ? wrong(`there is no fixtures/${given}.json. Record it: ${typedTool('test --record')}`) : found
  }
  try {
    return readFixtures(given)
  } catch (error) {
    return wrong(`"fixtures" must be the name of a file of fixtures, or its content: ${(error as Error).message}`)
  }
}

/** All calls in `calls/`, by name. @throws ToolProblem when one of them is invalid */
export async function listCalls(folder: string, isRecording = false): Promise<SavedCall[]> {
  const names = (await readdir(path.join(folder, CALLS_FOLDER)).catch(() => [])).filter((name) => name.endsWith('.json')).sort()
  if (names.length > CALLS_MAX) throw new ToolProblem(`${CALLS_FOLDER}/ has ${names.length} calls; the limit is ${CALLS_MAX}.`)
  return await Promise.all(names.map((name) => readCall(folder, path.join(folder, CALLS_FOLDER, name), isRecording)))
}
