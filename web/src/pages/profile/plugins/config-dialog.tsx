import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { configurePlugin, type MyPlugin } from '#api/plugins.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Check, ChoiceField, TextField } from '#parts/controls.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { Failure } from '#parts/states.tsx'
import { pluginTexts } from '#texts/plugins.ts'
import { type ConfigMember, configMembers } from './config-members.ts'

type Values = Record<string, unknown>

/** The settings of a plugin for the user. Secret ones are never shown; left empty, they stay. */
export function ConfigDialog({ plugin, onClose }: { plugin: MyPlugin; onClose: () => void }) {
  const { pluginId, pluginDisplayName: name, config, userConfigSchema, secretsSet } = plugin
  const [values, setValues] = useState<Values>(config)
  const saving = useMutation({
    mutationFn: () => configurePlugin(pluginId, values),
    onSuccess: () => {
      say(pluginTexts.configured({ name }))
      onClose()
    },
  })
  const set = (key: string, value: unknown) => {
    const { [key]: _, ...others } = values
    setValues(value === undefined ? others : { ...others, [key]: value })
  }
  return (
    <Dialog
      title={pluginTexts.configTitle({ name })}
      action={pluginTexts.save()}
      isWide
      isBusy={saving.isPending}
      onAction={() => saving.mutate()}
      onClose={onClose}
    >
      <p className="small quiet">{pluginTexts.configWords()}</p>
      {configMembers(userConfigSchema).map((member) => (
        <Member
          key={member.key}
          member={member}
          value={values[member.key]}
          isSet={secretsSet.includes(member.key)}
          onChange={(value) => set(member.key, value)}
        />
      ))}
      {saving.error && <Failure error={saving.error} title={pluginTexts.save()} />}
    </Dialog>
  )
}

interface MemberProps {
  member: ConfigMember
  value: unknown
  /** Of a secret: whether the server has one. */
  isSet: boolean
  /** @param value undefined for the default */
  onChange: (value: unknown) => void
}

function Member({ member, value, isSet, onChange }: MemberProps) {
  const { kind, label, hint, isRequired, min, max, choices } = member
  const shown = value ?? member.default
  if (kind === 'boolean')
    return (
      <Check isSwitch checked={shown === true} onChange={({ currentTarget }) => onChange(currentTarget.checked)}>
        {label} {hint && <span className="small quiet">{hint}</span>}
      </Check>
    )
  if (kind === 'choice')
    return (
      <ChoiceField
        label={label}
        hint={hint}
        value={String(shown ?? '')}
        options={[...(shown === undefined ? [{ value: '', text: '' }] : []), ...choices.map((text) => ({ value: text, text }))]}
        onChange={(text) => onChange(text === '' ? undefined : text)}
      />
    )
  if (kind === 'secret')
    return (
      <PasswordField
        label={label}
        hint={isSet ? pluginTexts.secretSet() : (hint ?? undefined)}
        required={isRequired && !isSet}
        value={String(value ?? '')}
        autoComplete="off"
        onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      />
    )
  const isNumber = kind === 'number'
  return (
    <TextField
      label={label}
      hint={hint}
      type={isNumber ? 'number' : 'text'}
      min={min}
      max={max}
      required={isRequired}
      value={String(shown ?? '')}
      onChange={({ currentTarget: { value: text, valueAsNumber } }) => onChange(text === '' ? undefined : isNumber ? valueAsNumber : text)}
    />
  )
}
