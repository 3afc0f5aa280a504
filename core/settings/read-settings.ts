import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { type Flag, splitFlags } from '#core/settings/command-line.ts'
import { type Given, isList, parseValue, splitList, type Value } from '#core/settings/parse-value.ts'
import {
  absolutePath,
  CONFIG_ENV,
  CONFIG_FLAG,
  CONFIG_NAME,
  hasFileVariable,
  listVariables,
  SETTINGS,
  type Setting,
  type SettingKey,
} from '#core/settings/setting-table.ts'
import { composeSettings, type Settings } from '#core/settings/settings.ts'

/** The settings are invalid; each of the `problems` says in a sentence what to change. */
export class SettingsRefused extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      problems.length === 1
        ? problems[0]
        : `There are ${problems.length} problems in the settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    )
    this.name = 'SettingsRefused'
    this.problems = problems
  }
}

/** Variables of carrel-plugin, which may run in the same shell. */
const PLUGIN_TOOL_VARIABLES = ['CARREL_PLUGIN_SERVER', 'CARREL_PLUGIN_TOKEN', 'CARREL_PLUGIN_KEY_FILE'] as const

export interface SettingsInput {
  /** Flags only; words are refused. */
  argv: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  /** The working directory of the user: relative paths start here. */
  cwd: string
  /** Where the path of the default data folder starts, if not at `cwd`. */
  defaultsFrom?: string
  /** Reads a file's text; throws when it cannot. By default from disk. */
  readFile?: (file: string) => string
}

/** The flags of the settings, to combine with those of a command. */
export function settingFlags(): Flag[] {
  const flags: Flag[] = [{ name: CONFIG_FLAG }]
  for (const { flag, kind } of SETTINGS as readonly Setting[])
    if (flag !== null) {
      const isSwitch = kind.type === 'boolean'
      flags.push({ name: flag, isSwitch, takesWord: isSwitch, repeatable: isList(kind) })
    }
  return flags
}

/**
 * Reads flags, environment and the config file, in that precedence, checks everything and freezes the result.
 * @throws SettingsRefused with all problems at once
 */
export function readSettings(input: SettingsInput): Settings {
  const readFile = input.readFile ?? ((file: string) => readFileSync(file, 'utf8'))
  const { values: flags, words, problems } = splitFlags(input.argv, settingFlags())
  for (const word of words) problems.push(`The argument "${word}" belongs to no flag.`)
  for (const name of Object.keys(input.env))
    if (name.startsWith('CARREL_') && !listVariables().includes(name) && !(PLUGIN_TOOL_VARIABLES as readonly string[]).includes(name))
      problems.push(`There is no environment variable ${name}.${didYouMean(name, listVariables())}`)

  const fromFlags = (setting: Setting): Given | null => {
    const given = setting.flag === null ? undefined : flags.get(setting.flag)
    if (!given) return null
    return { source: `--${setting.flag}`, value: isList(setting.kind) ? given : given.at(-1)!, from: input.cwd }
  }
  const fromEnv = (setting: Setting): Given | null => {
    const plain = input.env[setting.env]
    const filePath = hasFileVariable(setting) ? input.env[`${setting.env}_FILE`] : undefined
    if (plain && filePath) problems.push(`${setting.env} and ${setting.env}_FILE are both set; set one.`)
    if (plain) return { source: setting.env, value: splitList(setting, plain), from: input.cwd }
    if (!filePath) return null
    const file = absolutePath(filePath, input.cwd)
    try {
      // The final newline comes from the editor and is not part of the secret.
      return { source: `${setting.env}_FILE`, value: readFile(file).replace(/\r?\n$/, ''), from: input.cwd }
    } catch (error) {
      problems.push(`${setting.env}_FILE names ${file}, which cannot be read (${codeOf(error)}).`)
      return null
    }
  }

  const dataFolder = read(settingOf('dataDir'), [fromFlags, fromEnv], input.defaultsFrom ?? input.cwd, [])
  const config = readConfig({ flags, env: input.env, cwd: input.cwd, dataFolder: dataFolder as string | undefined, readFile, problems })
  const fromConfig = (setting: Setting): Given | null => {
    const value = config.values.get(setting.key)
    return value === undefined ? null : { source: `${setting.key} in ${config.file}`, value, from: path.dirname(config.file) }
  }

  const values = new Map<string, Value | undefined>()
  for (const setting of SETTINGS as readonly Setting[]) {
    const value = read(setting, [fromFlags, fromEnv, fromConfig], input.defaultsFrom ?? input.cwd, problems)
    values.set(setting.key, value)
  }
  const settings = composeSettings(values, problems)
  if (problems.length > 0) throw new SettingsRefused(problems)
  return freeze(settings)
}

function settingOf(key: SettingKey): Setting {
  return SETTINGS.find((setting) => setting.key === key)!
}

/** The checked value from the first source that has one; otherwise the default. */
function read(
  setting: Setting,
  sources: readonly ((setting: Setting) => Given | null)[],
  defaultsFrom: string,
  problems: string[],
): Value | undefined {
  for (const source of sources) {
    const given = source(setting)
    if (given === null) continue
    const outcome = parseValue(setting, given)
    if ('problem' in outcome) {
      problems.push(`${given.source} ${outcome.problem}`)
      return undefined
    }
    return outcome.value
  }
  return setting.kind.type === 'folder' ? absolutePath(setting.fallback as string, defaultsFrom) : setting.fallback
}

/** The config file: the named one, or else carrel.json in the data folder or the working directory, or none. */
function readConfig(input: {
  flags: Map<string, string[]>
  env: SettingsInput['env']
  cwd: string
  dataFolder: string | undefined
  readFile: (file: string) => string
  problems: string[]
}): { file: string; values: Map<string, unknown> } {
  const named = input.flags.get(CONFIG_FLAG)?.at(-1) ?? input.env[CONFIG_ENV]
  const files = named
    ? [absolutePath(named, input.cwd)]
    : [input.dataFolder ?? input.cwd, input.cwd].map((folder) => path.join(folder, CONFIG_NAME))
  for (const file of files) {
    let text: string
    try {
      text = input.readFile(file)
    } catch (error) {
      if (!named && ['ENOENT', 'ENOTDIR'].includes(codeOf(error))) continue
      const folder = path.dirname(file)
      if (!named && isClosed(file)) {
        // If this is the data folder, the start itself reports what to do.
        if (folder !== input.dataFolder) input.problems.push(`The folder ${folder} is closed to this user (${codeOf(error)}).`)
        continue
      }
      input.problems.push(`The config file ${file} cannot be read (${codeOf(error)}).`)
      break
    }
    try {
      return { file, values: flatten(JSON.parse(text), file, input.problems) }
    } catch (error) {
      input.problems.push(`The config file ${file} is not JSON: ${(error as Error).message}.`)
      break
    }
  }
  return { file: '', values: new Map() }
}

/** Flattens nested objects to dotted keys; both spellings are accepted. Unknown keys are refused. */
function flatten(content: unknown, file: string, problems: string[]): Map<string, unknown> {
  const keys: string[] = SETTINGS.map((setting) => setting.key)
  const found = new Map<string, unknown>()
  const walk = (value: unknown, prefix: string) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      problems.push(`${prefix ? `${prefix} in ${file}` : `The config file ${file}`} must be a JSON object.`)
      return
    }
    for (const [name, inner] of Object.entries(value)) {
      const key = prefix ? `${prefix}.${name}` : name
      if (keys.includes(key)) found.set(key, inner)
      else if (keys.some((each) => each.startsWith(`${key}.`))) walk(inner, key)
      else problems.push(`There is no setting ${key} (in ${file}).${didYouMean(key, keys)}`)
    }
  }
  walk(content, '')
  return found
}

/** Whether the folder denies access, not the file. */
function isClosed(file: string): boolean {
  try {
    statSync(file)
    return false
  } catch (error) {
    return codeOf(error) === 'EACCES'
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
