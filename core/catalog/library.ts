import type { Static } from 'typebox'
import Type from 'typebox'
import { RuleCondition } from '#core/conditions/condition-schema.ts'
import { TitleRules } from '#core/conditions/title-rules.ts'
import { BOOK_FORMATS } from '#core/fields/book-format.ts'
import { READING_DIRECTIONS } from '#core/fields/series-metadata.ts'
import {
  described,
  describedAs,
  FreeJson,
  NameText,
  Noun,
  Nullable,
  OneOf,
  Timestamp,
  TimeZone,
  UNTRIMMED,
  Uuid,
} from '#core/foundation/schema.ts'

/** How files become series. */
export const SERIES_STRATEGIES = [
  'auto',
  'series_volume',
  'series_volume_chapter',
  'flat',
  'publisher_hierarchy',
  'calibre',
  'custom',
] as const
export type SeriesStrategy = (typeof SERIES_STRATEGIES)[number]
/** Of new libraries. */
export const DEFAULT_SERIES_STRATEGY: SeriesStrategy = 'auto'
/** Where a book's title comes from. */
export const BOOK_STRATEGIES = ['filename', 'metadata_first', 'smart', 'series_name', 'custom'] as const
/** Where a book's number comes from. */
export const NUMBER_STRATEGIES = ['file_order', 'metadata', 'filename', 'smart'] as const

/** How changes in the folders of a library are noticed. */
export const WATCH_MODES = ['auto', 'on', 'poll', 'off'] as const
/** Between two scans of a library that is polled. */
export const POLL_MINUTES = 60

/** When and how a library is scanned automatically. */
const ScanningConfig = Noun('ScanningConfig')({
  enabled: Type.Boolean({ description: 'Whether anything scans the library automatically.' }),
  scanMode: Type.Enum(['normal', 'deep'], { description: 'Of automatic scans.' }),
  scanOnStart: Type.Optional(
    Type.Boolean({
      description: 'Scans at each start of the server. A library whose `scanningConfig` is null is scanned at each start too.',
    }),
  ),
  purgeDeletedOnScan: Type.Optional(
    Type.Boolean({
      description: 'A scan purges books whose file two complete scans, a day or more apart (purgeAfterHours), have found missing.',
    }),
  ),
  cronSchedule: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 100,
        description:
          'Five fields: minute, hour, day, month, weekday. At most every 5 minutes. A scan that is missed while the server is stopped runs once after its start.',
      }),
    ),
  ),
  cronTimezone: Type.Optional(Nullable(TimeZone({ description: 'Such as Europe/Berlin; default UTC.' }))),
  watch: Type.Optional(
    Type.Enum([...WATCH_MODES], {
      description:
        'How changes in its folders are noticed. `auto`, the default: by events, where the drive reports them; `on`: by events on every drive; `poll`: by scans in an interval; `off`: by scheduled scans only.',
    }),
  ),
  pollMinutes: Type.Optional(Nullable(Type.Integer({ minimum: 5, maximum: 10_080, description: `Of \`poll\`; default ${POLL_MINUTES}.` }))),
})
export type ScanningConfig = Static<typeof ScanningConfig>

/** Disks of a server; each is compared with every link. */
const LINK_TARGETS_MAX = 20

const Config = described(FreeJson, 'Of the strategy; others are refused.')
const Name = NameText({ minLength: 1, maxLength: 200 })
const Path = Type.String({ ...UNTRIMMED, minLength: 1, maxLength: 2000, description: 'Absolute path of a folder on the server.' })
const Targets = {
  description: 'Where links may lead. Only for administrators.',
}
const Formats = Type.Array(Type.String({ maxLength: 20, description: `In any case: ${BOOK_FORMATS.join(', ')}.` }), { maxItems: 20 })
const Patterns = Type.String({ maxLength: 20_000, description: 'Globs, one per line; without a slash they match a name at any depth.' })
const Description = Type.String({ maxLength: 10_000 })

/** A library in lists and records. */
export const Library = Noun('Library')({
  id: Uuid,
  name: Type.String(),
  path: Type.String({
    description:
      'Absolute path of its folder on the server for callers with the permission books-write; for others only the name of the folder.',
  }),
  description: Nullable(Type.String()),
  isActive: Type.Boolean(),
  seriesStrategy: OneOf(SERIES_STRATEGIES),
  seriesConfig: Type.Optional(Config),
  bookStrategy: OneOf(BOOK_STRATEGIES),
  bookConfig: Type.Optional(Config),
  numberStrategy: OneOf(NUMBER_STRATEGIES),
  numberConfig: Type.Optional(Config),
  defaultReadingDirection: OneOf(READING_DIRECTIONS),
  allowedFormats: Nullable(Type.Array(Type.String())),
  excludedPatterns: Nullable(Type.String()),
  linkTargets: Type.Optional(Type.Array(Type.String(), Targets)),
  scanningConfig: Nullable(ScanningConfig),
  titlePreprocessingRules: Type.Optional(describedAs(FreeJson, Nullable(TitleRules))),
  autoMatchConditions: Type.Optional(describedAs(FreeJson, Nullable(RuleCondition))),
  bookCount: Type.Integer({ minimum: 0, description: 'Books that the caller may see, without deleted ones.' }),
  seriesCount: Type.Integer({ minimum: 0 }),
  lastScannedAt: Nullable(Timestamp),
  nextScanAt: Nullable(Timestamp, { description: 'The next planned scan; null if there is none.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Library = Static<typeof Library>

const editable = {
  description: Type.Optional(Nullable(Description)),
  seriesStrategy: Type.Optional(Nullable(OneOf(SERIES_STRATEGIES), { description: 'How files become series; auto for new libraries.' })),
  seriesConfig: Type.Optional(described(FreeJson, 'Settings of the series strategy; those of another one are refused.')),
  bookStrategy: Type.Optional(Nullable(OneOf(BOOK_STRATEGIES), { description: 'Where titles of books come from; a task renames them.' })),
  bookConfig: Type.Optional(Config),
  numberStrategy: Type.Optional(
    Nullable(OneOf(NUMBER_STRATEGIES), {
      description: 'Where numbers of books come from; smart for new libraries. A task renumbers them.',
    }),
  ),
  numberConfig: Type.Optional(Config),
  defaultReadingDirection: Type.Optional(Nullable(OneOf(READING_DIRECTIONS))),
  allowedFormats: Type.Optional(Nullable(Formats)),
  excludedPatterns: Type.Optional(Nullable(Patterns)),
  linkTargets: Type.Optional(Nullable(Type.Array(Path, { maxItems: LINK_TARGETS_MAX }))),
  scanningConfig: Type.Optional(Nullable(ScanningConfig)),
  titlePreprocessingRules: Type.Optional(Nullable(TitleRules)),
  autoMatchConditions: Type.Optional(Nullable(RuleCondition, { description: 'Which series are matched automatically.' })),
}

export const CreateLibraryRequest = Noun('NewLibrary')({
  name: Name,
  path: Path,
  scanImmediately: Type.Optional(Type.Boolean()),
  ...editable,
})
export type CreateLibraryRequest = Static<typeof CreateLibraryRequest>

/** Absent members do not change; null clears members that may be empty and leaves the others. Another layout moves books to other series. */
export const UpdateLibraryRequest = Noun('LibraryEdit')({
  name: Type.Optional(Nullable(Name)),
  path: Type.Optional(Nullable(Path)),
  isActive: Type.Optional(Nullable(Type.Boolean())),
  ...editable,
})
export type UpdateLibraryRequest = Static<typeof UpdateLibraryRequest>
