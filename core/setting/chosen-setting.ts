import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/errors.ts'
import { Nullable, Timestamp, Uuid } from '#core/schema.ts'

/** What is kept of a setting's value, which is always a text. */
export const VALUE_LENGTH_MAX = 64 * 1024

/** A setting that administrators choose while the server runs; those of core/setting/setting-table.ts are given at its start. */
export interface ChosenSetting {
  key: string
  category: string
  about: string
  fallback: string
  /** Anybody who is signed in may read it. */
  isPublic: boolean
  /** `template` values are checked as templates before they are kept. */
  kind: 'text' | 'template'
  lengthMax: number
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
]

/** @throws not_found for a key that is none */
export function getChosenSetting(key: string): ChosenSetting {
  const known = CHOSEN_SETTINGS.find((setting) => setting.key === key)
  return (
    known ?? refuse('not_found', `There is no setting "${key}". There are: ${CHOSEN_SETTINGS.map((setting) => setting.key).join(', ')}.`)
  )
}

export const SettingRecord = Type.Object({
  id: Uuid,
  key: Type.String(),
  category: Type.String(),
  description: Type.String(),
  value: Type.String(),
  defaultValue: Type.String(),
  valueType: Type.String(),
  isSensitive: Type.Boolean(),
  minValue: Nullable(Type.Integer()),
  maxValue: Nullable(Type.Integer({ description: 'Of a text, how many characters it may have.' })),
  version: Type.Integer({ description: 'Grows with every change.' }),
  updatedAt: Timestamp,
  updatedBy: Nullable(Uuid),
})
export type SettingRecord = Static<typeof SettingRecord>

export const SettingChange = Type.Object({
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
