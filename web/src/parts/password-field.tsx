import { Eye, EyeOff } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { Field } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { appTexts } from '#texts/app.ts'

interface PasswordFieldProps extends Omit<ComponentProps<'input'>, 'type' | 'children'> {
  label: string
  hint?: string | undefined
  error?: string | null
}

/** A password that can be shown while it is typed. */
export function PasswordField({ label, hint, error, ...input }: PasswordFieldProps) {
  const [isShown, setIsShown] = useState(false)
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <span className="input">
          <input {...attributes} required {...input} type={isShown ? 'text' : 'password'} />
          <button
            type="button"
            className="icon-btn"
            aria-label={isShown ? appTexts.hidePassword() : appTexts.showPassword()}
            onClick={() => setIsShown(!isShown)}
          >
            <Icon of={isShown ? EyeOff : Eye} />
          </button>
        </span>
      )}
    </Field>
  )
}
