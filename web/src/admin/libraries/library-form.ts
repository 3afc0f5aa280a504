import type { LayoutEdit, LibraryEdit, LibraryRecord, NewLibrary } from '#api/records.ts'
import {
  BOOK_SETTINGS,
  type BookStrategy,
  type Config,
  configOf,
  NUMBER_SETTINGS,
  type NumberStrategy,
  SERIES_SETTINGS,
  type SeriesStrategy,
  type Setting,
} from '#parts/library/strategy-settings.ts'
import type { Schedule } from './schedules.ts'

export const FORMATS = ['cbz', 'cbr', 'epub', 'pdf']

/** How changes in the folders of a library are noticed. */
export const WATCH_MODES = ['auto', 'on', 'poll', 'off'] as const
export type WatchMode = (typeof WATCH_MODES)[number]
/** The server's own interval. */
const POLL_MINUTES = 60

/** What is entered about a library. */
export interface LibraryForm {
  name: string
  formats: readonly string[]
  direction: LibraryRecord['defaultReadingDirection']
  /** Globs, one in each line. */
  excluded: string
  seriesStrategy: SeriesStrategy
  seriesConfig: Config
  bookStrategy: BookStrategy
  bookConfig: Config
  numberStrategy: NumberStrategy
  numberConfig: Config
  isOnStart: boolean
  schedule: Schedule
  watch: WatchMode
  /** Between two scans of a library that is polled. */
  pollMinutes: number
}

/** As the server makes a library without more words. */
export const NEW_FORM: LibraryForm = {
  ...{ name: '', formats: FORMATS, direction: 'ltr', excluded: '' },
  ...{ seriesStrategy: 'auto', seriesConfig: {}, bookStrategy: 'metadata_first', bookConfig: {} },
  ...{ numberStrategy: 'smart', numberConfig: {}, isOnStart: true, schedule: { cron: null, timeZone: null } },
  ...{ watch: 'auto', pollMinutes: POLL_MINUTES },
}

export function formOf(library: LibraryRecord): LibraryForm {
  const { name, seriesStrategy, bookStrategy, numberStrategy, scanningConfig } = library
  return {
    ...{ name, seriesStrategy, bookStrategy, numberStrategy },
    formats: library.allowedFormats ?? FORMATS,
    direction: library.defaultReadingDirection,
    excluded: library.excludedPatterns ?? '',
    seriesConfig: (library.seriesConfig ?? {}) as Config,
    bookConfig: (library.bookConfig ?? {}) as Config,
    numberConfig: (library.numberConfig ?? {}) as Config,
    isOnStart: scanningConfig === null || scanningConfig.scanOnStart === true,
    schedule: { cron: scanningConfig?.cronSchedule ?? null, timeZone: scanningConfig?.cronTimezone ?? null },
    watch: scanningConfig?.watch ?? 'auto',
    pollMinutes: scanningConfig?.pollMinutes ?? POLL_MINUTES,
  }
}

/** The formats as they are sent: null for all of them. */
export const formatsOf = ({ formats }: Pick<LibraryForm, 'formats'>): string[] | null =>
  formats.length === FORMATS.length ? null : [...formats]

/** What a new and a changed library have in common. */
function commonOf(form: LibraryForm, before: LibraryRecord | null) {
  return {
    name: form.name.trim(),
    allowedFormats: formatsOf(form),
    defaultReadingDirection: form.direction,
    excludedPatterns: form.excluded.trim() || null,
    scanningConfig: {
      ...{ enabled: true, scanMode: 'normal' as const, ...before?.scanningConfig },
      scanOnStart: form.isOnStart,
      cronSchedule: form.schedule.cron,
      cronTimezone: form.schedule.timeZone,
      watch: form.watch,
      pollMinutes: form.watch === 'poll' ? form.pollMinutes : null,
    },
  }
}

export function newLibraryOf(form: LibraryForm, path: string): NewLibrary {
  const { seriesStrategy, bookStrategy, numberStrategy } = form
  return {
    ...commonOf(form, null),
    path,
    ...{ seriesStrategy, seriesConfig: configOf(SERIES_SETTINGS[seriesStrategy], form.seriesConfig) },
    ...{ bookStrategy, bookConfig: configOf(BOOK_SETTINGS[bookStrategy], form.bookConfig) },
    ...{ numberStrategy, numberConfig: configOf(NUMBER_SETTINGS[numberStrategy], form.numberConfig) },
  }
}

/** A way that was changed, with its settings; null for the one that the library has. What is sent again counts as a change when it names a usual value. */
function changed<Strategy extends string>(
  settings: Partial<Record<Strategy, readonly Setting[]>>,
  [strategy, config]: [Strategy, Config],
  [strategyBefore, configBefore]: [Strategy, Config],
): { strategy: Strategy; config: Config } | null {
  const next = configOf(settings[strategy], config)
  const isSame = strategy === strategyBefore && JSON.stringify(next) === JSON.stringify(configOf(settings[strategy], configBefore))
  return isSame ? null : { strategy, config: next }
}

/** Another way to find series, as the API takes it; null when it stays. */
export function layoutEditOf(library: LibraryRecord, form: LibraryForm): LayoutEdit | null {
  const before = formOf(library)
  const next = changed(SERIES_SETTINGS, [form.seriesStrategy, form.seriesConfig], [before.seriesStrategy, before.seriesConfig])
  return next && { seriesStrategy: next.strategy, seriesConfig: next.config }
}

/** Whether titles or numbers of books are given again. */
export function namingEditOf(
  library: LibraryRecord,
  form: LibraryForm,
): { book: Pick<LibraryEdit, 'bookStrategy' | 'bookConfig'> | null; number: Pick<LibraryEdit, 'numberStrategy' | 'numberConfig'> | null } {
  const before = formOf(library)
  const book = changed(BOOK_SETTINGS, [form.bookStrategy, form.bookConfig], [before.bookStrategy, before.bookConfig])
  const number = changed(NUMBER_SETTINGS, [form.numberStrategy, form.numberConfig], [before.numberStrategy, before.numberConfig])
  return {
    book: book && { bookStrategy: book.strategy, bookConfig: book.config },
    number: number && { numberStrategy: number.strategy, numberConfig: number.config },
  }
}

/** What is sent: of the strategies only those that are different, because another one sorts or names all books again. */
export function editOf(library: LibraryRecord, form: LibraryForm): LibraryEdit {
  const { book, number } = namingEditOf(library, form)
  return { ...commonOf(form, library), ...layoutEditOf(library, form), ...book, ...number }
}
