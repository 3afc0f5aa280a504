import type { KeyObject } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { parseObject } from '#core/foundation/plain-object.ts'
import { escapedLines } from '#core/foundation/stranger-text.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import { fileReason, type ToolInput, ToolProblem } from './command.ts'
import { readOptional } from './project.ts'
import type { SideLoad } from './side-load.ts'
import { readKey } from './signing.ts'

/** In the folder of a plugin, beside the files that are packed. */
const FILE = '.carrel-plugin-server.json'
const NAMES = ['server', 'token', 'keyFile'] as const
const VARIABLES = { server: 'CARREL_PLUGIN_SERVER', token: 'CARREL_PLUGIN_TOKEN', keyFile: 'CARREL_PLUGIN_KEY_FILE' } as const

export const TARGET_FLAGS: readonly DescribedFlag[] = [
  {
    name: 'server',
    value: 'url',
    about: `A running server on which to install every build, as a pre-release. Also from ${VARIABLES.server}, or "server" in ${FILE} in the folder of the plugin.`,
  },
  {
    name: 'token',
    value: 'key',
    about: `For --server: the API key of an administrator. Better from ${VARIABLES.token}, or "token" in ${FILE}: others can see arguments, and npm prints them.`,
  },
  {
    name: 'key-file',
    value: 'file',
    about: `For --server: signs every build with this key, as a plugin needs that has a signed release there. Also from ${VARIABLES.keyFile}, or "keyFile" in ${FILE}.`,
  },
  { name: 'trust-key', value: 'fingerprint', about: 'For --server: confirms there that your key is another one than that of the release.' },
  {
    name: 'move-from',
    value: 'place',
    about: 'For --server: confirms there that builds come from here, and no longer from this repository.',
  },
  {
    name: 'config',
    value: 'file',
    about: 'For --server: a file with the configuration as JSON, which the server gets after the first build. It gets --credentials, too.',
  },
]

/** The server of the command, and what builds for it need. */
export interface DevTarget extends SideLoad {
  keys: KeyObject[]
  config: Record<string, unknown> | undefined
}

/**
 * By the flags, the environment, or the file in the folder, in this order; null when none names a server.
 * @throws ToolProblem
 */
export async function readTarget({ folder, cwd, flag }: ToolInput, env: NodeJS.ProcessEnv = process.env): Promise<DevTarget | null> {
  const stored = await readFileOf(folder)
  const [server, token, keyFile] = NAMES.map((name) => {
    const given = flag(name === 'keyFile' ? 'key-file' : name) ?? env[VARIABLES[name]]
    return { text: given ?? stored[name], base: given === undefined ? folder : cwd }
  }) as [Given, Given, Given]
  const config = flag('config')
  if (server.text === undefined) {
    const lone = ['token', 'key-file', 'trust-key', 'move-from', 'config', 'level', 'node'].find((name) => flag(name) !== undefined)
    if (lone !== undefined) throw new ToolProblem(`--${lone} is for a server, and none is named. Name it with --server URL, or in ${FILE}.`)
    return null
  }
  if (!URL.canParse(server.text) || !/^https?:$/.test(new URL(server.text).protocol))
    throw new ToolProblem(`"${escapedLines(server.text)}" is not a URL such as http://127.0.0.1:8080.`)
  if (token.text === undefined)
    throw new ToolProblem(`The server needs the API key of an administrator: --token KEY, ${VARIABLES.token}, or "token" in ${FILE}.`)
  return {
    url: server.text,
    token: token.text,
    trustKey: flag('trust-key'),
    moveFrom: flag('move-from'),
    keys: keyFile.text === undefined ? [] : [await readKey(path.resolve(keyFile.base, keyFile.text))],
    config: config === undefined ? undefined : await readConfigFile(path.resolve(cwd, config)),
  }
}

interface Given {
  text: string | undefined
  base: string
}

/** @throws ToolProblem for a file that others may read, because it contains a key */
async function readFileOf(folder: string): Promise<Partial<Record<(typeof NAMES)[number], string>>> {
  const bytes = await readOptional(folder, FILE)
  if (bytes === null) return {}
  const file = path.join(folder, FILE)
  const { mode } = await stat(file)
  const value = parseObject(bytes.toString('utf8'))
  const texts = value !== null && Object.values(value).every((one) => typeof one === 'string')
  const unknown = Object.keys(value ?? {}).find((name) => !(NAMES as readonly string[]).includes(name))
  if (!texts || unknown !== undefined)
    throw new ToolProblem(
      `${file} must be an object of texts as JSON, with ${NAMES.join(', ')}${unknown === undefined ? '' : `; "${escapedLines(unknown)}" is unknown`}.`,
    )
  const { token } = value as { token?: string }
  if (token !== undefined && process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new ToolProblem(`Others may read ${file}, which contains an API key: chmod 600 ${FILE}`)
  return value as Partial<Record<(typeof NAMES)[number], string>>
}

async function readConfigFile(file: string): Promise<Record<string, unknown>> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new ToolProblem(`--config: ${file} cannot be read (${fileReason(error)}).`, { cause: error })
  })
  const value = parseObject(bytes.toString('utf8'))
  if (value === null) throw new ToolProblem(`--config: ${file} must be an object as JSON, such as { "site": "https://api.example.org" }.`)
  return value
}
