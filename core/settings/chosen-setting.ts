import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** What is kept of a setting's value, which is always a text. */
export const VALUE_LENGTH_MAX = 64 * 1024

/** A setting that administrators choose while the server runs; those of core/settings/setting-table.ts are given at its start. */
export interface ChosenSetting {
  key: string
  category: string
  about: string
  fallback: string
  /** Anybody who is signed in may read it. */
  isPublic: boolean
  /** `template` values are checked as templates before they are kept; a `switch` is `true` or `false`. */
  kind: 'text' | 'template' | 'switch'
  lengthMax: number
  /** A text that may say nothing. */
  mayBeEmpty?: true
  /** What is wrong with a value of the right kind, to stand behind the name of the setting; null when nothing is. */
  check?: (value: string) => string | null
}

/** First words of addresses that are this server's own, or may become so: no foreign protocol is put there. */
export const OWN_PATH_WORDS: readonly string[] = [
  'api',
  'app',
  'assets',
  'docs',
  'favicon.ico',
  'health',
  'koreader',
  'login',
  'logout',
  'metrics',
  'opds',
  'robots.txt',
  'static',
  'web',
]

/** One part of a path that needs no encoding in an address. */
const PATH_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

function checkPathWord(value: string): string | null {
  if (!PATH_WORD.test(value))
    return 'must be one part of a path: letters, digits, dots, hyphens and underscores, at most 64, the first a letter or a digit'
  return OWN_PATH_WORDS.includes(value.toLowerCase()) ? `must not be "${value}": that address is the server's own` : null
}

export const CHOSEN_SETTINGS: readonly ChosenSetting[] = [
  {
    key: 'application.name',
    category: 'application',
    about: 'What the library calls itself, in pages and feeds.',
    fallback: 'Carrel',
    isPublic: true,
    kind: 'text',
    lengthMax: 100,
  },
  {
    key: 'display.custom_metadata_template',
    category: 'display',
    about: 'How fields of your own are shown beside a book or a series: a template over its context, which writes Markdown.',
    fallback: '{{#each customMetadata}}- **{{@key}}**: {{this}}\n{{/each}}',
    isPublic: true,
    kind: 'template',
    lengthMax: VALUE_LENGTH_MAX,
  },
  {
    key: 'apiDocs.enabled',
    category: 'documentation',
    about: 'Serves the documentation of the API as pages in which it can be tried, at /api/docs, to everybody who reaches the server.',
    fallback: 'false',
    isPublic: true,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'auth.registration_enabled',
    category: 'auth',
    about: 'Whether anybody who reaches this server may make an account of their own, as a reader.',
    fallback: 'false',
    isPublic: false,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'auth.registration_tags',
    category: 'auth',
    about:
      'Names of sharing tags, separated by commas: who makes an account of their own is allowed these, and sees nothing else. Without any, nobody does so while anybody is allowed or denied a sharing tag.',
    fallback: '',
    isPublic: false,
    kind: 'text',
    lengthMax: 2_000,
    mayBeEmpty: true,
  },
  {
    key: 'compatibilityApi.enabled',
    category: 'compatibility',
    about: 'Serves the interface of Komga beside our own, for reader apps that know that one.',
    fallback: 'false',
    isPublic: false,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'readerSync.enabled',
    category: 'reader_sync',
    about:
      'Keeps the reading progress of KOReader, at /koreader: the user name typed into it is an API key, its password is not looked at.',
    fallback: 'false',
    isPublic: false,
    kind: 'switch',
    lengthMax: 5,
  },
  {
    key: 'compatibilityApi.prefix',
    category: 'compatibility',
    about: 'First part of its addresses: with "komga", apps are given the address of the server followed by /komga.',
    fallback: 'komga',
    isPublic: false,
    kind: 'text',
    lengthMax: 64,
    check: checkPathWord,
  },
]

/** @throws not_found for a key that is none */
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
  maxValue: Nullable(Type.Integer({ description: 'Of a text, how many characters it may have; null for true and false.' })),
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
