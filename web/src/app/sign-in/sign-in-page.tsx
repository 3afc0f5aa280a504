import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { setupQuery, signIn } from '#api/session.ts'
import { TextField } from '#parts/controls.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { appTexts } from '#texts/app.ts'
import { GateForm } from './gate-form.tsx'

/** Shown at every address while nobody is signed in; the address stays. */
export function SignInPage() {
  const isOpen = useQuery(setupQuery).data?.registrationEnabled ?? false
  return (
    <GateForm
      title={appTexts.signIn()}
      action={appTexts.signIn()}
      onSubmit={(values) => signIn(String(values.get('username')), String(values.get('password')))}
      foot={
        isOpen ? (
          <Link className="link" href="/register">
            {appTexts.toRegister()}
          </Link>
        ) : (
          appTexts.forgot()
        )
      }
    >
      {(error) => (
        <>
          <TextField label={appTexts.usernameOrEmail()} name="username" autoComplete="username" autoCapitalize="none" required autoFocus />
          <PasswordField label={appTexts.password()} name="password" autoComplete="current-password" error={error} />
        </>
      )}
    </GateForm>
  )
}
