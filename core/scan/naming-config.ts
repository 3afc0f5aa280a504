import type { Static, TObject } from 'typebox'
import Type from 'typebox'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { refuseValue } from '#core/foundation/errors.ts'
import { OneOf, UNTRIMMED } from '#core/foundation/schema.ts'
import { checkSettings } from '#core/scan/layouts/check-layout.ts'
import { checkPattern, groupsIn } from '#core/scan/layouts/match-patterns.ts'

/** A longer pattern or template was probably pasted by accident. */
const TEXT_LENGTH_MAX = 500
/** Digits of a padded number; titles with more are harder to read, not easier. */
const PADDING_MAX = 6
/** A series begins with a small number. */
const START_MAX = 1_000_000
const CLOSED = { additionalProperties: false } as const

const None = Type.Object({}, CLOSED)
const Text = Type.String({ ...UNTRIMMED, minLength: 1, maxLength: TEXT_LENGTH_MAX })
const Padding = Type.Optional(Type.Integer({ minimum: 1, maximum: PADDING_MAX }))
const SeriesName = Type.Object({ volumePadding: Padding, chapterPadding: Padding }, CLOSED)
const Custom = Type.Object(
  { pattern: Text, titleTemplate: Text, fallback: Type.Optional(OneOf(['filename', 'metadata_first', 'smart', 'series_name'])) },
  CLOSED,
)
export type SeriesNameConfig = Static<typeof SeriesName>
export type CustomTitleConfig = Static<typeof Custom>

/** The settings that each strategy has. */
const CONFIGS = {
  book: { filename: None, metadata_first: None, smart: None, series_name: SeriesName, custom: Custom },
  number: {
    filename: None,
    metadata: None,
    file_order: Type.Object({ start: Type.Optional(Type.Integer({ minimum: 0, maximum: START_MAX })) }, CLOSED),
    smart: Type.Object({ usePosition: Type.Optional(Type.Boolean()) }, CLOSED),
  },
} as const

/** Where a template puts the value of a group of its pattern. */
const FIELD = /\{([^{}]{0,100})\}/g

/** The title by a template; an empty one if all groups are. */
export const fillTemplate = (template: string, groups: Readonly<Record<string, string>>): string =>
  template.replace(FIELD, (_, group: string) => groups[group]?.trim() ?? '').trim()

type Naming = Pick<LibraryRow, 'book_strategy' | 'book_config' | 'number_strategy' | 'number_config'>

/** Of a library that is created without them; the columns have the same defaults. */
export const NEW_NAMING: Naming = { book_strategy: 'metadata_first', book_config: null, number_strategy: 'smart', number_config: null }

/** The strategies for titles and numbers after a change. The settings of another strategy are not kept. */
export function namingOf(library: Naming, change: Partial<Naming>): Naming {
  const { book_strategy = library.book_strategy, number_strategy = library.number_strategy } = change
  const kept = (isSame: boolean, config: unknown) => (isSame ? config : null)
  const { book_config = kept(book_strategy === library.book_strategy, library.book_config) } = change
  const { number_config = kept(number_strategy === library.number_strategy, library.number_config) } = change
  return { book_strategy, book_config, number_strategy, number_config }
}

/**
 * Checks the strategies for titles and numbers of a library with their settings.
 * @throws invalid_value with the path of the setting in the request
 */
export async function checkNaming(rules: Rules, library: Naming): Promise<void> {
  // Clients choose the strategy first and store its pattern afterwards; until then it names books by their files.
  const isOpen = library.book_strategy === 'custom' && library.book_config === null
  if (!isOpen) checkConfig('book', library.book_strategy, library.book_config)
  checkConfig('number', library.number_strategy, library.number_config)
  if (library.book_strategy !== 'custom' || isOpen) return
  const { pattern, titleTemplate } = library.book_config as CustomTitleConfig
  await checkPattern(rules, pattern, '/bookConfig/pattern')
  const known: readonly string[] = groupsIn(pattern)
  const used = [...titleTemplate.matchAll(FIELD)].map(([, group]) => group as string)
  const unknown = used.find((group) => !known.includes(group))
  if (unknown !== undefined)
    refuseValue(
      '/bookConfig/titleTemplate',
      `The template uses {${unknown}}, and the pattern has no group (?P<${unknown}>…) that a title can have.`,
    )
  if (used.length === 0)
    refuseValue('/bookConfig/titleTemplate', 'The template uses no group of the pattern, such as {title}: all books would have one title.')
}

const checkConfig = (kind: 'book' | 'number', strategy: string, config: unknown) =>
  checkSettings(`${kind}Config`, { strategy, schema: (CONFIGS[kind] as Readonly<Record<string, TObject>>)[strategy] ?? None }, config)
