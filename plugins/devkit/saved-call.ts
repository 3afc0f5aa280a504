import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Fixtures, readFixtures } from '../../plugin-sdk/fixtures.ts'
import type { Json, LibraryEntry } from '../../plugin-sdk/index.ts'
import { ToolProblem } from './command.ts'
import { findFixtures } from './fixture-files.ts'
import { ALL_METHODS } from './plugin-session.ts'

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
}

export const CALLS_FOLDER = 'calls'
/** It may contain the library of a user. */
const FILE_BYTES_MAX = 20 * 1024 * 1024
const CALLS_MAX = 200

const isRecord = (value: unknown): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The other members of an entry are optional. */
const isLibrary = (value: unknown): value is LibraryEntry[] =>
  Array.isArray(value) && value.every((entry) => isRecord(entry) && typeof entry['seriesId'] === 'string')

/** @param folder of the plugin, for its fixtures. @throws ToolProblem with what is wrong */
export async function readCall(folder: string, file: string): Promise<SavedCall> {
  const shown = path.relative(folder, file)
  const wrong = (message: string): never => {
    throw new ToolProblem(`${shown}: ${message}`)
  }
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => wrong(`it cannot be read (${error.code}).`))
  if (bytes.length > FILE_BYTES_MAX) wrong(`it has ${bytes.length} bytes; the limit is ${FILE_BYTES_MAX}.`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return wrong(`it is not valid JSON (${(error as Error).message}).`)
  }
  return await callOf(value, { folder, name: path.basename(file, '.json'), wrong })
}

/** @param wrong throws an error with its message */
export async function callOf(
  value: unknown,
  { folder, name, wrong }: { folder: string; name: string; wrong: (message: string) => never },
): Promise<SavedCall> {
  if (!isRecord(value)) return wrong('a call must be an object: { "method", "input", "config", "fixtures" }.')
  const { method, input = null, config = {}, userConfig = {}, library = [], fixtures = null } = value
  if (typeof method !== 'string' || !ALL_METHODS.includes(method)) return wrong(`"method" must be one of ${ALL_METHODS.join(', ')}.`)
  if (!isRecord(config) || !isRecord(userConfig)) return wrong('"config" and "userConfig" must be objects.')
  if (!isLibrary(library)) return wrong('"library" must be an array of series, each with a "seriesId".')
  return {
    name,
    method,
    input,
    config,
    userConfig,
    library,
    fixtures: await fixturesOf(fixtures, folder, wrong),
  }
}

async function fixturesOf(given: Json, folder: string, wrong: (message: string) => never): Promise<Fixtures | null> {
  if (given === null) return null
  if (typeof given === 'string') return (await findFixtures(folder, given)) ?? wrong(`there is no fixtures/${given}.json.`)
  try {
    return readFixtures(given)
  } catch (error) {
    return wrong(`"fixtures" must be the name of a file of fixtures, or its content: ${(error as Error).message}`)
  }
}

/** All calls in `calls/`, by name. @throws ToolProblem when one of them is invalid */
export async function listCalls(folder: string): Promise<SavedCall[]> {
  const names = (await readdir(path.join(folder, CALLS_FOLDER)).catch(() => [])).filter((name) => name.endsWith('.json')).sort()
  if (names.length > CALLS_MAX) throw new ToolProblem(`${CALLS_FOLDER}/ has ${names.length} calls; the limit is ${CALLS_MAX}.`)
  return await Promise.all(names.map((name) => readCall(folder, path.join(folder, CALLS_FOLDER, name))))
}
