import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '#core/foundation/errors.ts'
import { parseObject } from '#core/foundation/plain-object.ts'
import { escapedLines } from '#core/foundation/stranger-text.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import { CREDENTIAL_FIELDS, checkFields, neededFields } from '#plugins/credentials/plugin-auth.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { fileReason, type ToolInput, ToolProblem } from './command.ts'

/** The credentials that an administrator or a user would enter. */
export type GivenCredentials = Readonly<Record<string, string>>

export const CREDENTIALS: DescribedFlag = {
  name: 'credentials',
  value: 'file',
  about:
    'A file with the credentials that the manifest\'s auth requires, such as { "token": "…" }, or { "username": "…", "password": "…" }. The tool adds them to requests as a server does. Your code does not see them, and they are not recorded. Keep the file out of your repository.',
}

/** Some fields of 10,000 characters. */
const FILE_BYTES_MAX = 64 * 1024

/** Whether the plugin needs credentials for its service. */
export const requiresCredentials = ({ auth }: Pick<Manifest, 'auth'>): boolean => neededFields(auth).length > 0

/**
 * The credentials in the file of the flag, checked as a server would; undefined without the flag.
 * @param isForServer they go to a server too, where the client at which users sign in is enough
 * @throws ToolProblem that reveals nothing of the content of the file
 */
export async function readCredentials(
  { cwd, flag }: Pick<ToolInput, 'cwd' | 'flag'>,
  { auth }: Manifest,
  isForServer = false,
): Promise<GivenCredentials | undefined> {
  const given = flag(CREDENTIALS.name)
  if (given === undefined) return undefined
  const wrong = (what: string): never => {
    throw new ToolProblem(`--credentials: ${escapedLines(given)} ${what}`)
  }
  const fields = CREDENTIAL_FIELDS[auth?.type ?? 'none']
  if (fields.length === 0) return wrong('is not needed: the manifest requires no credentials.')
  const bytes = await readFile(path.resolve(cwd, given)).catch((error: NodeJS.ErrnoException) =>
    wrong(`cannot be read (${fileReason(error)}).`),
  )
  if (bytes.length > FILE_BYTES_MAX) return wrong(`has ${bytes.length} bytes; the limit is ${FILE_BYTES_MAX}.`)
  const read = readTexts(bytes.toString('utf8'))
  if (read === null) return wrong(`must be an object of texts as JSON, with ${fields.join(', ')}.`)
  try {
    checkFields(auth, read)
  } catch (error) {
    if (error instanceof AppError) return wrong(`is invalid: ${error.message}`)
    throw error
  }
  const lacking = neededFields(auth).filter((field) => read[field] === undefined)
  if (lacking.length === 0 || (isForServer && read['clientId'] !== undefined)) return read
  // Requests would carry none, and the service would seem to refuse those of the file.
  const form = neededFields(auth).map((field) => `"${field}": "…"`)
  return wrong(`lacks ${lacking.join(' and ')}. Write { ${form.join(', ')} } into that file.`)
}

/** Of a command that sends requests to services: that they carry no credentials, though the manifest has `auth`. Null otherwise. */
export const missingCredentials = ({ flag }: Pick<ToolInput, 'flag'>, manifest: Manifest): string | null =>
  flag(CREDENTIALS.name) !== undefined || !requiresCredentials(manifest)
    ? null
    : `Requests are sent without credentials, which auth in manifest.json requires. Add --${CREDENTIALS.name} FILE.`

function readTexts(text: string): Record<string, string> | null {
  const value = parseObject<string>(text)
  return value !== null && Object.values(value).every((one) => typeof one === 'string') ? value : null
}
