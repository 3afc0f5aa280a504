import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { didYouMean, nearestName } from '#core/foundation/nearest-name.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { briefJson } from '#core/foundation/stranger-text.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { type Fixtures, readFixtures } from '../../plugin-sdk/fixtures.ts'
import type { AuthStatus, Json, LibraryEntry } from '../../plugin-sdk/index.ts'
import type { Method, Methods } from '../../plugin-sdk/testing.ts'
import { fileReason, ToolProblem } from './command.ts'
import { requiresCredentials } from './credentials-file.ts'
import { findFixtures } from './fixture-files.ts'
import { ALL_METHODS, runsForUser } from './plugin-session.ts'
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
  /** The state of the credentials; null when it does not say. */
  auth: AuthStatus | null
  /** Responses to its requests; null to send them to the real service. */
  fixtures: Fixtures | null
  /** The file of fixtures that it names, which may not be recorded yet; null without one. */
  fixturesName: string | null
}

export const CALLS_FOLDER = 'calls'
/** It may contain the library of a user. */
const FILE_BYTES_MAX = 20 * 1024 * 1024
const CALLS_MAX = 200

const MEMBERS = ['method', 'input', 'config', 'userConfig', 'library', 'auth', 'fixtures']
/** The page of `dev` names the call, editors the schema of a file, and a server says whether a recorded call is whole. */
const IGNORED = ['name', '$schema', 'isInputCut']

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

const AUTH_STATES = Object.keys({ none: true, missing: true, connected: true, expired: true } satisfies Record<AuthStatus, true>)

/** What is wrong with the state of the credentials, also in tests; null when nothing is. @param of follows its name */
export const problemOfAuth = (value: unknown, of = ''): string | null =>
  AUTH_STATES.includes(value as string) ? null : `"auth"${of} must be one of ${AUTH_STATES.join(', ')}; it is ${briefJson(value)}.`

/** The state of the credentials in a call; undefined when those that are given decide it. Fixtures are of a service that accepts them. */
export const authOfCall = ({ auth, fixtures, fixturesName }: SavedCall, manifest: Manifest): AuthStatus | undefined =>
  auth ?? ((fixtures !== null || fixturesName !== null) && requiresCredentials(manifest) ? 'connected' : undefined)

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

/** A kind of value in an input, with an example of it. */
interface InputKind {
  words: string
  example: string
  fits: (value: Json | undefined) => boolean
}

const TEXT: InputKind = { words: 'a string', example: '"…"', fits: (value) => typeof value === 'string' }
const NUMBER: InputKind = { words: 'a number', example: '5', fits: (value) => typeof value === 'number' }
const TEXTS: InputKind = {
  words: 'an array of strings',
  example: '[]',
  fits: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
}

/** All members of an input, since the server sends no others. Those with a kind are in every input; null is for the others. */
type InputMembers<Name extends Method> = Readonly<Record<keyof Methods[Name]['input'], InputKind | null>>

const SEARCH: InputMembers<'metadata.series.search'> = { query: TEXT, isbn: null, author: null, year: null, limit: NUMBER, cursor: null }
const GET: InputMembers<'metadata.series.get'> = { externalId: TEXT }
const MATCH: InputMembers<'metadata.series.match'> = {
  title: TEXT,
  alternateTitles: null,
  year: null,
  authors: null,
  isbn: null,
  externalIds: null,
}
const INPUTS: { readonly [Name in Method]: InputMembers<Name> } = {
  'metadata.series.search': SEARCH,
  'metadata.series.get': GET,
  'metadata.series.match': MATCH,
  'metadata.book.search': SEARCH,
  'metadata.book.get': GET,
  'metadata.book.match': MATCH,
  'recommendations.get': { limit: NUMBER, exclude: TEXTS },
  'recommendations.refresh': { limit: NUMBER },
  'recommendations.dismiss': { externalId: TEXT, reason: null },
}

/** @param method one of all methods. @returns what is wrong; null when nothing is */
export function problemOfInput(method: string, input: Json): string | null {
  const members: Readonly<Record<string, InputKind | null>> = INPUTS[method as Method]
  const needed = Object.entries(members).filter((entry): entry is [string, InputKind] => entry[1] !== null)
  const form = `{ ${needed.map(([name, { example }]) => `"${name}": ${example}`).join(', ')} }`
  if (!isObject<Json>(input)) return `"input" must be an object, for ${method} such as ${form}; it is ${briefJson(input)}.`
  for (const [name, { words, fits }] of needed) {
    if (!Object.hasOwn(input, name)) return `"input" has no "${name}", which ${method} always gets, as in ${form}.`
    if (!fits(input[name])) return `"${name}" of "input" must be ${words}; it is ${briefJson(input[name])}.`
  }
  const problem = problemOfMembers(input, Object.keys(members))
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
  if (!isObject<Json>(value)) return wrong(`a call must be an object: { ${MEMBERS.map((one) => `"${one}"`).join(', ')} }.`)
  if (Array.isArray(value['exchanges']))
    return wrong(`it is a file of fixtures. Give a call that names it, in ${CALLS_FOLDER}/: { "method", "input", "fixtures": "${name}" }.`)
  const problem = problemOfMembers(value, [...MEMBERS, ...IGNORED.filter((one) => Object.hasOwn(value, one))])
  if (problem !== null) return wrong(problem)
  if (value['isInputCut'] === true)
    return wrong('the server has hidden or left out a part of "input". Enter what is missing, and remove "isInputCut".')
  const { method, input = null, config = {}, userConfig = {}, library = [], auth = null, fixtures = null } = value
  if (typeof method !== 'string' || !ALL_METHODS.includes(method)) return wrong(problemOfMethod(method))
  const wrongInput = problemOfInput(method, input)
  if (wrongInput !== null) return wrong(wrongInput)
  const settingsIn = (name: string, given: Json): Record<string, Json> =>
    isObject<Json>(given) ? given : wrong(`"${name}" must be an object; it is ${briefJson(given)}.`)
  const wrongMember = problemOfLibrary(library) ?? (auth === null ? null : problemOfAuth(auth))
  if (wrongMember !== null) return wrong(wrongMember)
  const settings = { config: settingsIn('config', config), userConfig: settingsIn('userConfig', userConfig) }
  const [ofUser] = Object.entries({ userConfig, library }).filter(([, given]) => Object.keys(given as object).length > 0)
  if (ofUser !== undefined && !runsForUser(method))
    return wrong(
      `"${ofUser[0]}" is only for ${ALL_METHODS.filter(runsForUser).join(', ')}, which run for a user: a server runs ${method} for nobody.`,
    )
  return {
    name,
    method,
    input,
    ...settings,
    // Checked above.
    library: library as unknown as LibraryEntry[],
    auth: auth as AuthStatus | null,
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
