import { realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { SETTINGS } from '#core/settings/setting-table.ts'
import type { Settings } from '#core/settings/settings.ts'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..')

/** Used when none is given. */
const DATA_FOLDER = SETTINGS.find((setting) => setting.key === 'dataDir')!.fallback

interface Typing {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
}

/** A command as the user can type it here: `carrel` if that is on the PATH, else through npm. */
export function typed(words: string, { env, cwd }: Typing = { env: process.env, cwd: process.cwd() }): string {
  const underNpm = env['npm_lifecycle_event'] !== undefined
  if (!underNpm && isOnPath(env['PATH'])) return `carrel ${words}`
  const stands = (underNpm && env['INIT_CWD']) || cwd
  const elsewhere = path.relative(root, stands).startsWith('..')
  return `npm ${elsewhere ? `--prefix ${quoted(root)} ` : ''}run carrel -- ${words}`
}

/** The same for the data folder of this call: pasted as it stands, it works on the same server. */
export function typedOn({ dataFolder }: Pick<Settings, 'dataFolder'>, words: string): string {
  return typed(dataFolder === path.resolve(DATA_FOLDER) ? words : `${words} --data-dir ${quoted(dataFolder)}`)
}

/** The PATH that was searched last: lists print a command for each row. */
let searched: { folders: string | undefined; isThere: boolean } | undefined

function isOnPath(folders: string | undefined): boolean {
  if (searched === undefined || searched.folders !== folders) searched = { folders, isThere: hasCarrel(folders ?? '') }
  return searched.isThere
}

function hasCarrel(folders: string): boolean {
  return folders.split(':').some((folder) => {
    try {
      return folder !== '' && realpathSync(path.join(folder, 'carrel')) === path.join(root, 'api', 'launch.mjs')
    } catch {
      return false
    }
  })
}

/** Quotes a word for a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Settings of npm itself with these names are always in the environment. */
const OF_NPM = new Set(['yes', 'key', 'name', 'email', 'json', 'server', 'config'])

/**
 * The correct command line if the two dashes before our flags were forgotten: npm then takes the flags and passes on only their values.
 * Null if npm took none.
 */
export function explainTaken(
  argv: readonly string[],
  flags: readonly { name: string; isSwitch?: boolean }[],
  env: Typing['env'],
): string | null {
  const script = env['npm_lifecycle_event']
  if (script !== 'start' && script !== 'carrel') return null
  const taken = Object.entries(env).flatMap(([variable, value]) => {
    const name = /^npm_config_([a-z_]+)$/.exec(variable)?.[1]?.replaceAll('_', '-')
    const flag = flags.find((each) => each.name === name && !OF_NPM.has(each.name))
    return flag === undefined || value === undefined || argv.some((word) => word.startsWith(`--${name}`)) ? [] : [{ ...flag, value }]
  })
  if (taken.length === 0) return null
  const needing = taken.filter(({ isSwitch, value }) => !isSwitch && value === 'true').length
  const words = argv.slice(0, Math.max(0, argv.length - needing))
  const values = argv.slice(words.length)
  const again = taken.map(({ name, isSwitch, value }) => {
    if (isSwitch) return value === '' || value === 'false' ? `--no-${name}` : `--${name}`
    return `--${name} ${quoted(value === 'true' ? (values.shift() ?? '…') : value)}`
  })
  const names = taken.map(({ name }) => `--${name}`).join(', ')
  const line = ['npm', script === 'start' ? 'start' : 'run carrel', '--', ...words.map(quoted), ...again].join(' ')
  return `npm has taken ${names} for itself. Put two dashes before the arguments for Carrel:\n  ${line}`
}
