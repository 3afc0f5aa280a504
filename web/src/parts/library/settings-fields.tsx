import { useState } from 'react'
import { Check, ChoiceField, Field, TextField } from '#parts/controls.tsx'
import { Disclosure } from '#parts/disclosure.tsx'
import { settingTexts } from '#texts/strategy-settings.ts'
import { type Config, configOf, isComplete, type Setting, type SettingName, settingOf, withValue } from './strategy-settings.ts'

/** The longest expression that the API takes. */
const PATTERN_MAX = 500
/** Curly brackets in a text would be its values. */
const EXAMPLES: Partial<Record<SettingName, string>> = { seriesNameTemplate: '{publisher} - {series}', titleTemplate: '{series} {number}' }

interface SettingsFieldsProps {
  settings: readonly Setting[] | undefined
  config: Config
  onChange: (config: Config) => void
}

/** The settings of a strategy, each as the field that fits it. */
export function SettingsFields({ settings, config, onChange }: SettingsFieldsProps) {
  return settings?.map((setting) => (
    <SettingField
      key={setting.name}
      setting={setting}
      value={settingOf(config, setting.name)}
      onChange={(value) => onChange(withValue(config, setting.name, value))}
    />
  ))
}

/** Those of the way to find series, which most people leave as they are. What it cannot do without, and what was changed, is open. */
export function FoldedSettings({ settings, config, onChange }: SettingsFieldsProps) {
  const [isOpen] = useState(() => !isComplete(settings, {}) || Object.keys(configOf(settings, config)).length > 0)
  if (!settings) return null
  return (
    <Disclosure title={settingTexts.settings()} isOpen={isOpen}>
      <SettingsFields settings={settings} config={config} onChange={onChange} />
    </Disclosure>
  )
}

interface SettingFieldProps {
  setting: Setting
  value: unknown
  onChange: (value: unknown) => void
}

function SettingField({ setting, value, onChange }: SettingFieldProps) {
  const said: Partial<Record<string, (values: { example: string }) => string>> = settingTexts
  const label = settingTexts[`set_${setting.name}`]()
  const hint = said[`set_${setting.name}Hint`]?.({ example: EXAMPLES[setting.name] ?? '' })
  const isRequired = setting.isRequired ?? false
  switch (setting.kind) {
    case 'switch':
      return (
        <Check isSwitch checked={(value ?? setting.usual) === true} onChange={({ currentTarget }) => onChange(currentTarget.checked)}>
          {label} {hint && <span className="small quiet">{hint}</span>}
        </Check>
      )
    case 'choice':
      return (
        <ChoiceField
          label={label}
          hint={hint}
          value={String(value ?? setting.usual)}
          options={setting.choices.map((choice) => ({ value: choice as string, text: settingTexts[`is_${choice}`]() }))}
          onChange={onChange}
        />
      )
    case 'number':
      return (
        <TextField
          label={label}
          hint={hint}
          type="number"
          min={setting.min}
          max={setting.max}
          value={String(value ?? setting.usual ?? '')}
          onChange={({ currentTarget: { value: text, valueAsNumber } }) => onChange(text === '' ? null : valueAsNumber)}
        />
      )
    default:
      return <TextSetting label={label} hint={hint} kind={setting.kind} isRequired={isRequired} value={value} onChange={onChange} />
  }
}

interface TextSettingProps {
  label: string
  hint: string | undefined
  kind: 'lines' | 'words' | 'pattern'
  isRequired: boolean
  value: unknown
  onChange: (value: unknown) => void
}

/** Expressions are read from left to right in every language. */
function TextSetting({ label, hint, kind, isRequired, value, onChange }: TextSettingProps) {
  if (kind === 'lines')
    return (
      <Field label={label} hint={hint}>
        {(attributes) => (
          <span className="input">
            <textarea
              {...attributes}
              className="mono"
              dir="ltr"
              value={textOf(value, '\n')}
              onChange={({ currentTarget }) => onChange(currentTarget.value.split('\n'))}
            />
          </span>
        )}
      </Field>
    )
  const isPattern = kind === 'pattern'
  return (
    <TextField
      label={label}
      hint={hint}
      required={isRequired}
      {...(isPattern ? { className: 'mono', dir: 'ltr', maxLength: PATTERN_MAX } : {})}
      value={textOf(value, ',')}
      onChange={({ currentTarget: { value: text } }) => onChange(isPattern ? text : text.split(','))}
    />
  )
}

/** Lists as they are typed. */
const textOf = (value: unknown, between: string): string =>
  Array.isArray(value) ? value.join(between) : typeof value === 'string' ? value : ''
