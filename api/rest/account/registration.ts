import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { SESSION_KIND, signInWith } from '#api/rest/account/signing-in.ts'
import { FirstBrowserSignIn, FirstSignIn } from '#core/account/sign-in.ts'
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
    body: Type.Object({ username: Username, email: Email, password: Password, ...SESSION_KIND }),
    reply: Type.Union([FirstSignIn, FirstBrowserSignIn]),
    run: async (call, { body: { session, ...user } }) => {
      const signedIn = await signInWith(call, session, (request) => call.services.accounts.register(user, call.address, request))
      return { ...signedIn, message: `Welcome, ${user.username}; you are signed in.` }
    },
  }),
]
