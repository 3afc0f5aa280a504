import type { Static } from 'typebox'
import Type from 'typebox'
import type { SeriesStrategy } from '#core/catalog/library.ts'
import { OneOf, UNTRIMMED } from '#core/foundation/schema.ts'
import { FOLDER_WORD_KINDS, type FolderWords, type MoreWords, wordsWith } from '#core/scan/layouts/folder-words.ts'

/** A longer pattern was probably pasted by accident. */
const PATTERN_LENGTH_MAX = 500
/** More ways to write a name than one library has. */
const PATTERNS_MAX = 10
/** Every file is tried against them. */
const WORDS_MAX = 100
/** Deeper trees have their series by names, not by levels. */
const SKIP_MAX = 8
const CLOSED = { additionalProperties: false } as const
const Pattern = Type.String({ ...UNTRIMMED, minLength: 1, maxLength: PATTERN_LENGTH_MAX })
const Words = Type.Array(Type.String({ minLength: 1, maxLength: 50 }), { maxItems: WORDS_MAX })

const Auto = Type.Object(
  { words: Type.Optional(Type.Object(Object.fromEntries(FOLDER_WORD_KINDS.map((kind) => [kind, Type.Optional(Words)])), CLOSED)) },
  CLOSED,
)
const None = Type.Object({}, CLOSED)
const Flat = Type.Object(
  {
    filenamePatterns: Type.Optional(Type.Array(Pattern, { maxItems: PATTERNS_MAX })),
    requireMetadata: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)
const Publisher = Type.Object(
  {
    skipDepth: Type.Optional(Type.Integer({ minimum: 1, maximum: SKIP_MAX })),
    storeSkippedAs: Type.Optional(OneOf(['publisher', 'imprint', 'author'])),
  },
  CLOSED,
)
const Calibre = Type.Object(
  {
    stripIdSuffix: Type.Optional(Type.Boolean()),
    seriesMode: Type.Optional(OneOf(['standalone', 'by_author', 'from_metadata'])),
    readOpfMetadata: Type.Optional(Type.Boolean()),
    authorFromFolder: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)
const Custom = Type.Object(
  { pattern: Pattern, seriesNameTemplate: Type.Optional(Type.String({ ...UNTRIMMED, minLength: 1, maxLength: PATTERN_LENGTH_MAX })) },
  CLOSED,
)

/** The settings that each strategy has. */
export const SERIES_CONFIGS = {
  auto: Auto,
  series_volume: None,
  series_volume_chapter: None,
  flat: Flat,
  publisher_hierarchy: Publisher,
  calibre: Calibre,
  custom: Custom,
} as const satisfies Record<SeriesStrategy, unknown>

export type FlatConfig = Static<typeof Flat>
export type PublisherConfig = Static<typeof Publisher>
export type CalibreConfig = Static<typeof Calibre>

type LayoutOf = {
  [Strategy in SeriesStrategy]: { strategy: Strategy; config: Static<(typeof SERIES_CONFIGS)[Strategy]>; words: FolderWords }
}
/** A strategy with its settings. */
export type SeriesLayout = LayoutOf[SeriesStrategy]

/** @param config as stored, of this strategy */
export function layoutOf(strategy: string, config: unknown): SeriesLayout {
  const known = (config ?? {}) as { words?: MoreWords }
  const words = wordsWith(strategy === 'auto' ? known.words : undefined)
  return { strategy: strategy as SeriesStrategy, config: known, words } as SeriesLayout
}

/** Whether the metadata of books changes their series. */
export const waitsForMetadata = ({ strategy, config }: SeriesLayout): boolean =>
  strategy === 'auto' ||
  strategy === 'flat' ||
  (strategy === 'calibre' && (config.seriesMode ?? 'from_metadata') === 'from_metadata' && config.readOpfMetadata !== false)

/** The expressions of a strategy that need {@link PatternGroups}, and whether they are for paths or for names of files. */
export function patternsOf({ strategy, config }: SeriesLayout): { patterns: readonly string[]; of: 'path' | 'name' } | null {
  if (strategy === 'custom') return { patterns: [config.pattern], of: 'path' }
  if (strategy === 'flat' && config.filenamePatterns?.length) return { patterns: config.filenamePatterns, of: 'name' }
  return null
}
