import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { withCookie } from '#api/rest/account/auth.ts'
import { FirstSignIn } from '#core/account/sign-in.ts'
import { Email, Password, Username } from '#core/account/user.ts'

type Services = AccountServices & Pick<DataServices, 'settings'>
const endpoint = endpointOf<Services>()

export const registrationRoutes = [
  endpoint({
    name: 'register',
    method: 'POST',
    path: '/api/v1/auth/register',
    changes: 'users',
    setsCookie: true,
    summary:
      'Register an account with the role reader and sign in. Requires auth.registration_enabled and, while libraries, ages or sharing tags restrict what users see, the settings that say what new accounts see',
    tag: 'auth',
    allow: { who: 'public' },
    status: 201,
    body: Type.Object({ username: Username, email: Email, password: Password }),
    reply: FirstSignIn,
    run: async (call, { body }) => {
      const signedIn = await call.services.accounts.register(body, call.address)
      return withCookie(call, { ...signedIn, message: `Welcome, ${body.username}; you are signed in.` })
    },
  }),
]
