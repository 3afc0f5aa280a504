import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { checkAge } from '#core/settings/age-text.ts'

/** The limit of a setting's value, which is always a text. */
export const SETTING_LENGTH_MAX = 64 * 1024

/** A setting that administrators change while the server runs; those of core/settings/setting-table.ts are read at startup. */
export interface ChosenSetting {
  key: string
  category: string
  about: string
  fallback: string
  /** Every signed-in user may read it. */
  isPublic: boolean
  /** `template` values are checked as templates before they are stored; a `switch` is `true` or `false`. */
  kind: 'text' | 'template' | 'switch'
  lengthMax: number
  /** An empty text is allowed. */
  mayBeEmpty?: true
  /** What is wrong with a value of the right kind, as a predicate after the name of the setting; null when it is valid. */
  check?: (value: string) => string | null
}

/** How fast the verification of a library reads. */
export const VERIFY_RATE = 'verification.megabytes_per_second'

const checkRate = (value: string): string | null =>
  /^\d{1,5}$/.test(value) ? null : 'must be a whole number of megabytes, or 0 for no limit'

/** First path segments that this server uses, or may use later: no other protocol may be served there. */
export const OWN_PATH_WORDS: readonly string[] = [
  'admin',
  'api',
  'app',
  'assets',
  'books',
  'collections',
  'docs',
  'favicon.ico',
  'health',
  'history',
  'icon.svg',
  'koreader',
  'libraries',
  'login',
  'logout',
  'manifest.webmanifest',
  'metrics',
  'opds',
  'people',
  'profile',
  'read-lists',
  'recommendations',
  'register',
  'robots.txt',
  'search',
  'series',
  'setup',
  'sign-in',
  'static',
  'tags',
  'views',
  'want-to-read',
  'web',
  'work',
]

/** One path segment that needs no encoding in a URL. */
const PATH_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

function checkPathWord(value: string): string | null {
  if (!PATH_WORD.test(value))
    return 'must be one part of a path: letters, digits, dots, hyphens and underscores, at most 64, the first a letter or a digit'
  return OWN_PATH_WORDS.includes(value.toLowerCase()) ? `must not be "${value}": the server uses that path itself` : null
}

export const CHOSEN_SETTINGS: readonly ChosenSetting[] = [
  {
    key: 'application.name',
    category: 'application',
    about: 'Name of the library in pages and feeds.',
    fallback: 'Carrel',
    isPublic: true,
    kind: 'text',
    lengthMax: 100,
  },
  {
    key: 'display.custom_metadata_template',
    category: 'display',
    about: 'Template for custom metadata on the page of a book or a series: it uses the context of the book or series and writes Markdown.',
    fallback: '{{#each customMetadata}}- **{{@key}}**: {{this}}\n{{/each}}',
    isPublic: true,
    kind: 'template',
    lengthMax: SETTING_LENGTH_MAX,
  },
  {
    key: 'apiDocs.enabled',
    category: 'documentation',
    about: 'Serves the API documentation as interactive pages at /api/docs, to everybody who can reach the server.',
    fallback: 'false',
    isPublic: true,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'auth.registration_enabled',
    category: 'auth',
    about: 'Whether anybody who can reach this server may create an account, with the role reader.',
    fallback: 'false',
    isPublic: false,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'auth.registration_tags',
    category: 'auth',
    about:
      'Names of sharing tags, separated by commas: people who create an account are allowed these, and see nothing else. If empty, registration is closed while any user is allowed or denied a sharing tag.',
    fallback: '',
    isPublic: false,
    kind: 'text',
    lengthMax: 2_000,
    mayBeEmpty: true,
  },
  {
    key: 'auth.new_user_libraries',
    category: 'auth',
    about:
      'Names or ids of libraries, separated by commas: new accounts see only these, if whoever creates them says nothing else; administrators see all. If empty, new accounts see all, and registration is closed while any user or API key sees only some.',
    fallback: '',
    isPublic: false,
    kind: 'text',
    lengthMax: 2_000,
    mayBeEmpty: true,
  },
  {
    key: 'auth.new_user_age',
    category: 'auth',
    about:
      'Age rule of new accounts, as above: "up to 12" or "not from 18"; add ", unrated show" or ", unrated hide" for series without a rating. If empty, they have none, and registration is closed while any user or API key has one.',
    fallback: '',
    isPublic: false,
    kind: 'text',
    lengthMax: 100,
    mayBeEmpty: true,
    check: checkAge,
  },
  {
    key: 'progress.shown_to_administrators',
    category: 'progress',
    about:
      'Whether administrators may see the reading progress of users. Tell your users before you turn it on: this setting stands for their agreement, and every visitor can read it.',
    fallback: 'false',
    isPublic: true,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: VERIFY_RATE,
    category: 'verification',
    about: 'How many megabytes a second the verification of a library reads; 0 for no limit. A few leave the disks to people who read.',
    fallback: '50',
    isPublic: false,
    kind: 'text',
    lengthMax: 5,
    check: checkRate,
  },
  {
    key: 'compatibilityApi.enabled',
    category: 'compatibility',
    about: 'Serves the API of Komga as well, for client apps that support it.',
    fallback: 'false',
    isPublic: false,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'readerSync.enabled',
    category: 'reader_sync',
    about: 'Syncs the reading progress of KOReader, at /koreader: the user name in KOReader is an API key; its password is ignored.',
    fallback: 'false',
    isPublic: false,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'compatibilityApi.prefix',
    category: 'compatibility',
    about: 'First segment of its path: with "komga", apps use the address of the server followed by /komga.',
    fallback: 'komga',
    isPublic: false,
    kind: 'text',
    lengthMax: 64,
    check: checkPathWord,
  },
]

/** @throws not_found for an unknown key */
export function getChosenSetting(key: string): ChosenSetting {
  const known = CHOSEN_SETTINGS.find((setting) => setting.key === key)
  return (
    known ?? refuse('not_found', `There is no setting "${key}". There are: ${CHOSEN_SETTINGS.map((setting) => setting.key).join(', ')}.`)
  )
}

export const SettingRecord = Noun('Setting')({
  id: Uuid,
  key: Type.String(),
  category: Type.String(),
  description: Type.String(),
  value: Type.String(),
  defaultValue: Type.String(),
  valueType: Type.String(),
  isSensitive: Type.Boolean(),
  minValue: Nullable(Type.Integer()),
  maxValue: Nullable(Type.Integer({ description: 'For a text, the most characters that it may have; null for a switch.' })),
  version: Type.Integer({ description: 'Grows with every change.' }),
  updatedAt: Timestamp,
  updatedBy: Nullable(Uuid),
})
export type SettingRecord = Static<typeof SettingRecord>

export const SettingChange = Noun('SettingChange')({
  id: Uuid,
  settingId: Uuid,
  key: Type.String(),
  oldValue: Type.String(),
  newValue: Type.String(),
  changeReason: Nullable(Type.String()),
  ipAddress: Nullable(Type.String()),
  changedBy: Uuid,
  changedAt: Timestamp,
})
export type SettingChange = Static<typeof SettingChange>
