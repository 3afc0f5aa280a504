import { useId } from 'react'

interface ChoiceButtonsProps<T extends string> {
  label: string
  options: readonly { value: T; text: string }[]
  value: T
  onChange: (value: T) => void
  hint?: string
}

/** A choice of two or three in a form, all seen at once. */
export function ChoiceButtons<T extends string>({ label, options, value, onChange, hint }: ChoiceButtonsProps<T>) {
  const id = useId()
  return (
    <fieldset className="field" aria-describedby={hint && `${id}-hint`}>
      <legend className="label">{label}</legend>
      <div className="segments fill">
        {options.map((option) => (
          <label key={option.value}>
            <input
              className="visually-hidden"
              type="radio"
              name={id}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            {option.text}
          </label>
        ))}
      </div>
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </fieldset>
  )
}
