import type { LibraryRecord } from '#api/records.ts'

export type SeriesStrategy = LibraryRecord['seriesStrategy']
export type BookStrategy = LibraryRecord['bookStrategy']
export type NumberStrategy = LibraryRecord['numberStrategy']
/** The settings of a strategy, as the API takes them. */
export type Config = Readonly<Record<string, unknown>>

/** All ways, the usual one first. */
export const SERIES_STRATEGIES: readonly SeriesStrategy[] = [
  'auto',
  'series_volume',
  'series_volume_chapter',
  'flat',
  'publisher_hierarchy',
  'calibre',
  'custom',
]
export const BOOK_STRATEGIES: readonly BookStrategy[] = ['metadata_first', 'smart', 'filename', 'series_name', 'custom']
export const NUMBER_STRATEGIES: readonly NumberStrategy[] = ['smart', 'metadata', 'filename', 'file_order']

/** A setting of a strategy as a field of a form. `usual` is what the server does without it. */
interface Of<Name> {
  /** Members of members have dots between their names. */
  name: Name
  isRequired?: true
}
export type Setting<Name extends string = SettingName> = Of<Name> &
  (
    | { kind: 'switch'; usual: boolean }
    | { kind: 'choice'; usual: string; choices: readonly ChoiceName[] }
    | { kind: 'number'; usual: number | null; min: number; max: number }
    | { kind: 'pattern' }
    /** Texts, one in each line. */
    | { kind: 'lines' }
    /** Texts with commas between them. */
    | { kind: 'words' }
  )

export type ChoiceName =
  | 'none'
  | 'publisher'
  | 'imprint'
  | 'author'
  | 'from_metadata'
  | 'by_author'
  | 'standalone'
  | 'filename'
  | 'metadata_first'
  | 'smart'
  | 'series_name'
export type SettingName =
  | `words.${'volume' | 'chapter' | 'section' | 'edition' | 'side' | 'oneshot'}`
  | 'filenamePatterns'
  | 'requireMetadata'
  | 'skipDepth'
  | 'storeSkippedAs'
  | 'seriesMode'
  | 'stripIdSuffix'
  | 'readOpfMetadata'
  | 'authorFromFolder'
  | 'pattern'
  | 'seriesNameTemplate'
  | 'volumePadding'
  | 'chapterPadding'
  | 'titleTemplate'
  | 'fallback'
  | 'start'
  | 'usePosition'

/** The bounds are those of the API. */
const PADDING = { kind: 'number', usual: null, min: 1, max: 6 } as const

/** Strategies that are not here have no settings. */
export const SERIES_SETTINGS: Partial<Record<SeriesStrategy, readonly Setting[]>> = {
  auto: (['volume', 'chapter', 'section', 'edition', 'side', 'oneshot'] as const).map((kind) => ({ name: `words.${kind}`, kind: 'words' })),
  flat: [
    { name: 'filenamePatterns', kind: 'lines' },
    { name: 'requireMetadata', kind: 'switch', usual: false },
  ],
  publisher_hierarchy: [
    { name: 'skipDepth', kind: 'number', usual: 1, min: 1, max: 8 },
    { name: 'storeSkippedAs', kind: 'choice', usual: 'none', choices: ['none', 'publisher', 'imprint', 'author'] },
  ],
  calibre: [
    { name: 'seriesMode', kind: 'choice', usual: 'from_metadata', choices: ['from_metadata', 'by_author', 'standalone'] },
    { name: 'readOpfMetadata', kind: 'switch', usual: true },
    { name: 'authorFromFolder', kind: 'switch', usual: true },
    { name: 'stripIdSuffix', kind: 'switch', usual: true },
  ],
  custom: [
    { name: 'pattern', kind: 'pattern', isRequired: true },
    { name: 'seriesNameTemplate', kind: 'pattern' },
  ],
}
export const BOOK_SETTINGS: Partial<Record<BookStrategy, readonly Setting[]>> = {
  series_name: [
    { name: 'volumePadding', ...PADDING },
    { name: 'chapterPadding', ...PADDING },
  ],
  custom: [
    { name: 'pattern', kind: 'pattern', isRequired: true },
    { name: 'titleTemplate', kind: 'pattern', isRequired: true },
    { name: 'fallback', kind: 'choice', usual: 'filename', choices: ['filename', 'metadata_first', 'smart', 'series_name'] },
  ],
}
export const NUMBER_SETTINGS: Partial<Record<NumberStrategy, readonly Setting[]>> = {
  smart: [{ name: 'usePosition', kind: 'switch', usual: true }],
  file_order: [{ name: 'start', kind: 'number', usual: 1, min: 0, max: 1_000_000 }],
}

/** Undefined where nothing was chosen. */
export function settingOf(config: Config, name: string): unknown {
  return name.split('.').reduce<unknown>((at, part) => (at as Config | undefined)?.[part], config)
}

export function withValue(config: Config, name: string, value: unknown): Config {
  const [first = '', ...rest] = name.split('.')
  if (rest.length === 0) return { ...config, [first]: value }
  return { ...config, [first]: withValue((config[first] ?? {}) as Config, rest.join('.'), value) }
}

/** What is sent: without empty values, and without usual ones, which another layout would be to the server. */
export function configOf(settings: readonly Setting[] | undefined, entered: Config): Config {
  return (settings ?? []).reduce<Config>((config, setting) => {
    const value = settingOf(entered, setting.name)
    const clean = Array.isArray(value) ? value.map((text) => String(text).trim()).filter((text) => text !== '') : value
    const isUsual = 'usual' in setting && clean === setting.usual
    const isEmpty = clean === undefined || clean === null || clean === '' || (Array.isArray(clean) && clean.length === 0)
    return isUsual || isEmpty ? config : withValue(config, setting.name, clean)
  }, {})
}

/** Whether everything required is there. */
export const isComplete = (settings: readonly Setting[] | undefined, config: Config): boolean =>
  (settings ?? []).every(({ name, isRequired }) => !isRequired || Boolean(settingOf(config, name)))
