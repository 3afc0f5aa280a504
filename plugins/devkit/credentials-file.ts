import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { CarrelError } from '#core/foundation/errors.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import { CREDENTIAL_FIELDS, checkFields } from '#plugins/credentials/plugin-auth.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { type CommandInput, printable, ToolProblem } from './command.ts'

/** What an administrator or a reader would give a server. */
export type GivenCredentials = Readonly<Record<string, string>>

export const CREDENTIALS: DescribedFlag = {
  name: 'credentials',
  value: 'file',
  isSwitch: false,
  repeatable: false,
  about:
    'A file with what the manifest\'s auth asks for, such as { "token": "…" }, or { "username": "…", "password": "…" }: put into requests as a server does. Your code does not see it, and it is not recorded. Keep it out of your repository.',
}

/** Some fields of 10,000 characters. */
const FILE_BYTES_MAX = 64 * 1024

/**
 * What the file of the flag holds, as a server would take it; undefined without the flag.
 * @throws ToolProblem that tells nothing of what stands in the file
 */
export async function readCredentials(
  { cwd, flag }: Pick<CommandInput, 'cwd' | 'flag'>,
  { auth }: Manifest,
): Promise<GivenCredentials | undefined> {
  const given = flag(CREDENTIALS.name)
  if (given === undefined) return undefined
  const wrong = (what: string): never => {
    throw new ToolProblem(`--credentials: ${printable(given)} ${what}`)
  }
  const fields = CREDENTIAL_FIELDS[auth?.type ?? 'none']
  if (fields.length === 0) return wrong('is not needed: the manifest has no auth that asks for credentials.')
  const bytes = await readFile(path.resolve(cwd, given)).catch((error: NodeJS.ErrnoException) => wrong(`cannot be read (${error.code}).`))
  if (bytes.length > FILE_BYTES_MAX) return wrong(`has ${bytes.length} bytes; ${FILE_BYTES_MAX} are allowed.`)
  const read = readTexts(bytes.toString('utf8'))
  if (read === null) return wrong(`must be an object of texts as JSON, with ${fields.join(', ')}.`)
  try {
    checkFields(auth, read)
  } catch (error) {
    if (error instanceof CarrelError) return wrong(`is not right: ${error.message}`)
    throw error
  }
  return read
}

function readTexts(text: string): Record<string, string> | null {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
    return Object.values(value).every((one) => typeof one === 'string') ? (value as Record<string, string>) : null
  } catch {
    return null
  }
}
