import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Fixtures, readFixtures } from '../../plugin-sdk/fixtures.ts'
import type { Json, LibraryEntry } from '../../plugin-sdk/index.ts'
import { ToolProblem } from './command.ts'
import { findFixtures } from './fixture-files.ts'
import { ALL_METHODS } from './plugin-session.ts'

/** A call that somebody has written down, to make it again. */
export interface SavedCall {
  /** Of its file, without the ending. */
  name: string
  method: string
  input: Json
  config: Record<string, Json>
  userConfig: Record<string, Json>
  library: LibraryEntry[]
  /** What its requests are answered from; null to ask the service itself. */
  fixtures: Fixtures | null
}

export const CALLS_FOLDER = 'calls'
/** The library of a reader may be in it. */
const FILE_BYTES_MAX = 20 * 1024 * 1024
const CALLS_MAX = 200

const isRecord = (value: unknown): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** @param folder of the plugin, where its fixtures lie. @throws ToolProblem with what is wrong */
export async function readCall(folder: string, file: string): Promise<SavedCall> {
  const shown = path.relative(folder, file)
  const wrong = (message: string): never => {
    throw new ToolProblem(`${shown}: ${message}`)
  }
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => wrong(`it cannot be read (${error.code}).`))
  if (bytes.length > FILE_BYTES_MAX) wrong(`it has ${bytes.length} bytes; ${FILE_BYTES_MAX} are allowed.`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return wrong(`it is no JSON (${(error as Error).message}).`)
  }
  return await callOf(value, { folder, name: path.basename(file, '.json'), wrong })
}

/** @param wrong throws, with what is wrong */
export async function callOf(
  value: unknown,
  { folder, name, wrong }: { folder: string; name: string; wrong: (message: string) => never },
): Promise<SavedCall> {
  if (!isRecord(value)) return wrong('a call is an object: { "method", "input", "config", "fixtures" }.')
  const { method, input = null, config = {}, userConfig = {}, library = [], fixtures = null } = value
  if (typeof method !== 'string' || !ALL_METHODS.includes(method)) return wrong(`"method" must be one of ${ALL_METHODS.join(', ')}.`)
  if (!isRecord(config) || !isRecord(userConfig)) return wrong('"config" and "userConfig" must be objects.')
  if (!Array.isArray(library) || !library.every((entry) => isRecord(entry) && typeof entry['seriesId'] === 'string'))
    return wrong('"library" must be a list of series, each with a "seriesId".')
  return {
    name,
    method,
    input,
    config,
    userConfig,
    library: library as unknown as LibraryEntry[],
    fixtures: await fixturesOf(fixtures, folder, wrong),
  }
}

async function fixturesOf(given: Json, folder: string, wrong: (message: string) => never): Promise<Fixtures | null> {
  if (given === null) return null
  if (typeof given === 'string') return (await findFixtures(folder, given)) ?? wrong(`there is no fixtures/${given}.json.`)
  try {
    return readFixtures(given)
  } catch (error) {
    return wrong(`"fixtures" is the name of a file of fixtures, or its content: ${(error as Error).message}`)
  }
}

/** All that lie in `calls/`, by their names. @throws ToolProblem where one of them is wrong */
export async function listCalls(folder: string): Promise<SavedCall[]> {
  const names = (await readdir(path.join(folder, CALLS_FOLDER)).catch(() => [])).filter((name) => name.endsWith('.json')).sort()
  if (names.length > CALLS_MAX) throw new ToolProblem(`${CALLS_FOLDER}/ has ${names.length} calls; ${CALLS_MAX} are allowed.`)
  return await Promise.all(names.map((name) => readCall(folder, path.join(folder, CALLS_FOLDER, name))))
}
