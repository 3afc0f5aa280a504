import Type from 'typebox'
import { withCookie } from '#api/routes/auth.ts'
import { endpoint } from '#api/routes/route.ts'
import { FirstSignIn } from '#core/account/sign-in.ts'
import { Email, Password, Username } from '#core/account/user.ts'
import { refuse } from '#core/errors.ts'
import { isSwitchedOn } from '#core/setting/chosen-setting-store.ts'

export const registrationRoutes = [
  endpoint({
    method: 'POST',
    path: '/api/v1/auth/register',
    summary: 'Make an account of my own, as a reader, and sign in. Only where auth.registration_enabled is on.',
    tag: 'auth',
    allow: { who: 'public' },
    status: 201,
    body: Type.Object({ username: Username, email: Email, password: Password }),
    reply: FirstSignIn,
    run: async (call, { body }) => {
      if (!(await isSwitchedOn(call.services.database, 'auth.registration_enabled')))
        refuse('forbidden', 'Nobody makes an account of their own here; ask an administrator for one.')
      const signedIn = await call.services.accounts.register(body, call.address)
      return withCookie(call, { ...signedIn, message: `Welcome, ${body.username}; you are signed in.` })
    },
  }),
]
