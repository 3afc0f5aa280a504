import { ChevronDown, type LucideIcon } from 'lucide-react'
import { type ComponentProps, type ReactNode, useId } from 'react'
import { Icon } from '#parts/icon.tsx'

interface Option<T extends string> {
  value: T
  text: string
}

interface SelectProps<T extends string> {
  label: string
  value: T
  options: readonly Option<T>[]
  onChange: (value: T) => void
  /** A line of tools has lighter edges than a form. */
  isSoft?: boolean
}

/** The platform's own list of choices. */
export function Select<T extends string>({ label, ...choices }: SelectProps<T>) {
  return <Choices attributes={{ 'aria-label': label }} {...choices} />
}

interface ChoicesProps<T extends string> extends Omit<SelectProps<T>, 'label'> {
  /** What names it. */
  attributes: ComponentProps<'select'>
}

function Choices<T extends string>({ attributes, value, options, onChange, isSoft }: ChoicesProps<T>) {
  return (
    <span className={isSoft ? 'select soft' : 'select'}>
      <select {...attributes} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      <Icon of={ChevronDown} />
    </span>
  )
}

interface SegmentsProps<T extends string> {
  label: string
  value: T
  options: readonly { value: T; text: string; icon: LucideIcon }[]
  onChange: (value: T) => void
}

/** A choice of few, as buttons with icons. */
export function Segments<T extends string>({ label, value, options, onChange }: SegmentsProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend of its own
    <div className="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-label={option.text}
          title={option.text}
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          <Icon of={option.icon} />
        </button>
      ))}
    </div>
  )
}

interface FieldProps {
  label: string
  hint?: ReactNode
  error?: string | null | undefined
  children: (attributes: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode
}

/** A control of a form with its name, hint and error. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const describedBy = error || hint ? { 'aria-describedby': `${id}-more` } : {}
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, ...describedBy, ...(error ? { 'aria-invalid': true } : {}) })}
      {error ? (
        <p className="error" id={`${id}-more`}>
          {error}
        </p>
      ) : (
        hint && (
          <p className="hint" id={`${id}-more`}>
            {hint}
          </p>
        )
      )}
    </div>
  )
}

type TextFieldProps = Omit<FieldProps, 'children'> & Omit<ComponentProps<'input'>, 'children'>

export function TextField({ label, hint, error, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <span className="input">
          <input {...attributes} {...input} />
        </span>
      )}
    </Field>
  )
}

interface ChoiceFieldProps<T extends string> extends Omit<FieldProps, 'children'> {
  value: T
  options: readonly Option<T>[]
  onChange: (value: T) => void
}

export function ChoiceField<T extends string>({ label, hint, error, ...choices }: ChoiceFieldProps<T>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => <Choices attributes={attributes} {...choices} />}
    </Field>
  )
}

type CheckProps = { children: ReactNode; isSwitch?: boolean } & Omit<ComponentProps<'input'>, 'children' | 'type'>

export function Check({ children, isSwitch, ...input }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" {...(isSwitch ? { role: 'switch' } : {})} {...input} />
      <span>{children}</span>
    </label>
  )
}
