/** Where a setting is kept; the nearest to the book holds. */
export type Level = 'book' | 'series' | 'global'

/** Chosen values by level. What a level does not name is left to the next. */
export type Levels<Settings> = Record<Level, Partial<Settings>>

const ORDER = ['book', 'series', 'global'] as const

/** The level that holds the value of a setting; null while nobody chose one. */
export function levelOf<Settings extends object>(levels: Levels<Settings>, key: keyof Settings): Level | null {
  return ORDER.find((level) => levels[level][key] !== undefined) ?? null
}

/** The values that hold: of the book, else of its series, else of all books, else as they come. */
export function settingsOf<Settings extends object>(defaults: Settings, levels: Levels<Settings>): Settings {
  return { ...defaults, ...levels.global, ...levels.series, ...levels.book }
}

/** The value that holds without the nearest level that names it: what "set back" leads to. */
export function valueBelow<Settings extends object, Key extends keyof Settings>(
  defaults: Settings,
  levels: Levels<Settings>,
  key: Key,
): { value: Settings[Key]; level: Level | null } {
  const held = levelOf(levels, key)
  if (held === null) return { value: defaults[key], level: null }
  const without: Levels<Settings> = { ...levels, [held]: omit<Settings>(levels[held], key) }
  return { value: settingsOf(defaults, without)[key], level: levelOf(without, key) }
}

/** Chooses a value at a level. Nearer levels forget theirs, or the choice would not show. */
export function chooseAt<Settings extends object, Key extends keyof Settings>(
  levels: Levels<Settings>,
  at: Level,
  { key, value }: { key: Key; value: Settings[Key] },
): Levels<Settings> {
  const chosen = { ...levels }
  for (const level of ORDER) {
    if (level === at) break
    chosen[level] = omit<Settings>(chosen[level], key)
  }
  return { ...chosen, [at]: { ...chosen[at], [key]: value } }
}

/** Leaves a setting to the next level. */
export function setBack<Settings extends object>(levels: Levels<Settings>, key: keyof Settings): Levels<Settings> {
  const held = levelOf(levels, key)
  return held === null ? levels : { ...levels, [held]: omit<Settings>(levels[held], key) }
}

function omit<Settings extends object>(values: Partial<Settings>, key: keyof Settings): Partial<Settings> {
  const { [key]: _left, ...rest } = values
  return rest as Partial<Settings>
}

/** Books, and series, whose settings are kept. At 200 bytes, with every setting chosen, both stay below the 64 KB that a preference may have. */
const RECORDS_MAX = 150

/** Kept settings by id, the last used at the end. */
export type Kept<Settings> = Record<string, Partial<Settings>>

/** Puts the settings of a record at the end, and drops the longest unused records above the limit. No settings: drops the record. */
export function keepSettings<Settings extends object>(kept: Kept<Settings>, id: string, values: Partial<Settings>): Kept<Settings> {
  const others = Object.entries(kept).filter(([other]) => other !== id)
  const own: [string, Partial<Settings>][] = Object.keys(values).length > 0 ? [[id, values]] : []
  return Object.fromEntries([...others, ...own].slice(-RECORDS_MAX))
}

/** What a setting may be: one of these values, or a number within limits. */
type Allowed = readonly (string | boolean)[] | { min: number; max: number }

/** The known settings of a value from elsewhere: another version, or nonsense, loses only what is not understood. */
export function readSettings<Settings extends object>(value: unknown, allowed: Record<keyof Settings, Allowed>): Partial<Settings> {
  if (typeof value !== 'object' || value === null) return {}
  const known = Object.entries(value).filter(([key, each]) => Object.hasOwn(allowed, key) && allows(allowed[key as keyof Settings], each))
  return Object.fromEntries(known) as Partial<Settings>
}

function allows(allowed: Allowed, value: unknown): boolean {
  if ('min' in allowed) return typeof value === 'number' && value >= allowed.min && value <= allowed.max
  return allowed.some((each) => each === value)
}
