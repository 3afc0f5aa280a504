import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import { counted, printMessage, type ToolInput } from './command.ts'
import { INSTEAD } from './instead.ts'
import type { Project } from './project.ts'

/** What the project's own TypeScript says. */
export interface TypeCheck {
  /** One line per error, `src/main.ts:3:7: …`, as the bundler writes them. */
  errors: string[]
  /** Why types were not checked; null when they were, or when there is nothing to check. */
  leftOut: string | null
}

export const TYPES: DescribedFlag = {
  name: 'types',
  isSwitch: true,
  about: 'With --no-types, does not check types. A wrong type is then found where it fails, or not at all.',
}

const CHECKED: TypeCheck = { errors: [], leftOut: null }
const leftOut = (why: string): TypeCheck => ({ errors: [], leftOut: why })
/** A program that asks for more is stuck. */
const CHECK_MS_MAX = 120_000
/** More are of no use at a time. */
const ERRORS_MAX = 20
const INSTALL = 'Install what package.json names: npm install'

/** Checks the types of a project with its own compiler and its tsconfig.json; a check that was stopped is no pass. */
export async function checkTypes({ folder, entry }: Pick<Project, 'folder' | 'entry'>, stop?: AbortSignal): Promise<TypeCheck> {
  if (!existsSync(path.join(folder, 'tsconfig.json'))) return entry.file.endsWith('.ts') ? leftOut('there is no tsconfig.json.') : CHECKED
  const compiler = installed(folder, 'typescript', 'lib/tsc.js')
  if (compiler === null) return leftOut(`TypeScript is not installed in this folder. ${INSTALL}`)
  if (installed(folder, '@carrel/plugin-sdk', 'dist/index.d.ts') === null)
    return leftOut(`@carrel/plugin-sdk, built, is not installed in this folder. ${INSTALL}`)
  const { code, text } = await compile(folder, compiler, stop)
  if (stop?.aborted) return leftOut('stopped.')
  const isRead = !entry.file.endsWith('.ts') || isListed(text, entry.file)
  if (code === 0) return isRead ? CHECKED : { errors: [notIncluded(entry.file)], leftOut: null }
  const errors = readErrors(text)
  if (errors.length === 0) return leftOut(`TypeScript failed: ${text.trim().slice(0, 500) || `exit code ${code}`}`)
  const more = errors.length - ERRORS_MAX
  return { errors: more > 0 ? [...errors.slice(0, ERRORS_MAX), `and ${counted(more, 'more error')}`] : errors, leftOut: null }
}

/** As {@link checkTypes}, unless the command has `--no-types`. */
export const checkTypesUnless = async (
  { flag }: Pick<ToolInput, 'flag'>,
  project: Pick<Project, 'folder' | 'entry'>,
  stop?: AbortSignal,
): Promise<TypeCheck> => (flag(TYPES.name) === 'false' ? leftOut('--no-types.') : await checkTypes(project, stop))

/** Prints what the compiler found. */
export function printTypes({ out }: Pick<ToolInput, 'out'>, { errors, leftOut: why }: TypeCheck): void {
  for (const error of errors) printMessage(out, ['red', '✖'], error)
  if (why !== null) printMessage(out, ['yellow', '!'], `Types were not checked: ${why}`)
}

/** A file of a package as the folder's own code would find it; null when it is not there. */
function installed(folder: string, name: string, file: string): string | null {
  try {
    const found = findPackageJSON(name, pathToFileURL(path.join(folder, 'package.json')))
    const wanted = found === undefined ? '' : path.join(path.dirname(found), file)
    return existsSync(wanted) ? wanted : null
  } catch {
    return null
  }
}

function compile(folder: string, compiler: string, stop?: AbortSignal): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve) => {
    let text = ''
    // Since version 7 the compiler replaces its process by another program, which a signal reaches just as well.
    const child = spawn(process.execPath, [compiler, '-p', 'tsconfig.json', '--noEmit', '--pretty', 'false', '--listFiles'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: CHECK_MS_MAX,
      ...(stop && { signal: stop }),
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
    child.once('error', ({ message }) => resolve({ code: null, text: message }))
    child.once('close', (code) => resolve({ code, text }))
  })
}

/** Whether the compiler has read a file, of which it writes the whole path. */
const isListed = (text: string, file: string): boolean => text.split(/\r?\n/).some((line) => `/${line}`.endsWith(`/${file}`))

/** Such as when tsconfig.json has no files of its own and refers to other projects: the compiler then reads nothing, and ends well. */
const notIncluded = (file: string): string =>
  `tsconfig.json does not include ${file}, so nothing checks its types. Give it "include": ["src", "test"]; projects that "references" names are not checked.`

const ERROR = /^(?:(.+)\((\d+),(\d+)\): )?error (TS\d+): (.*)$/

/** In place of the compiler's advice to add types of Node or of browsers, which the sandbox does not have; tests run in Node. */
function withoutOtherTypes(message: string, file = ''): string {
  const [, name] = /^Cannot find name '([\w$]+)'\. Do you need to (?:install type definitions for node|.*'dom')/.exec(message) ?? []
  if (name === undefined || file.startsWith('test/')) return message
  return `Cannot find name '${name}': the sandbox does not have it.${Object.hasOwn(INSTEAD, name) ? ` Use ${INSTEAD[name]}.` : ''}`
}

/** The compiler indents the lines that explain the one before. */
function readErrors(text: string): string[] {
  const errors: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const [found, file, row, column, code, message] = ERROR.exec(line) ?? []
    if (found !== undefined)
      errors.push(`${file === undefined ? '' : `${file}:${row}:${column}: `}${withoutOtherTypes(message as string, file)} (${code})`)
    else if (/^\s+\S/.test(line) && errors.length > 0) errors[errors.length - 1] += `\n${line}`
  }
  return errors
}
