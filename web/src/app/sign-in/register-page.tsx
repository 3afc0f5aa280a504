import { Link, useLocation } from 'wouter'
import { register } from '#api/session.ts'
import { TextField } from '#parts/controls.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { appTexts } from '#texts/app.ts'
import { GateForm } from './gate-form.tsx'

/** Makes an account of one's own, where administrators allow it. */
export function RegisterPage() {
  const [, navigate] = useLocation()
  const submit = async (values: FormData) => {
    await register({
      username: String(values.get('username')),
      email: String(values.get('email')),
      password: String(values.get('password')),
    })
    navigate('/', { replace: true })
  }
  return (
    <GateForm
      title={appTexts.register()}
      action={appTexts.create()}
      onSubmit={submit}
      foot={
        <Link className="link" href="/sign-in">
          {appTexts.haveAccount()}
        </Link>
      }
    >
      {(error) => (
        <>
          <TextField label={appTexts.username()} name="username" autoComplete="username" autoCapitalize="none" required autoFocus />
          <TextField label={appTexts.email()} name="email" type="email" autoComplete="email" required />
          <PasswordField
            label={appTexts.password()}
            name="password"
            autoComplete="new-password"
            hint={appTexts.passwordHint()}
            error={error}
          />
        </>
      )}
    </GateForm>
  )
}
