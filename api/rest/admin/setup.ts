import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import { SESSION_KIND, signInWith } from '#api/rest/account/signing-in.ts'
import { FirstBrowserSignIn, FirstSignIn } from '#core/account/sign-in.ts'
import { Email, Password, Username } from '#core/account/user.ts'

type Services = AccountServices & Pick<DataServices, 'settings'>
const endpoint = endpointOf<Services>()

export const setupRoutes: Route<Services>[] = [
  endpoint({
    name: 'getSetupStatus',
    method: 'GET',
    path: '/api/v1/setup/status',
    summary: 'Get whether the first administrator is missing, and whether users may register',
    tag: 'setup',
    allow: { who: 'public' },
    reply: Type.Object({ setupRequired: Type.Boolean(), hasUsers: Type.Boolean(), registrationEnabled: Type.Boolean() }),
    run: async ({ services }) => {
      const setupRequired = await services.accounts.needsSetup()
      const registrationEnabled = await services.accounts.isRegistrationOpen()
      return { setupRequired, hasUsers: !setupRequired, registrationEnabled }
    },
  }),
  endpoint({
    name: 'initializeSetup',
    method: 'POST',
    path: '/api/v1/setup/initialize',
    changes: 'users',
    setsCookie: true,
    summary: 'Create the first administrator and sign in. Only while there are no users',
    tag: 'setup',
    allow: { who: 'public' },
    body: Type.Object({ username: Username, email: Email, password: Password, ...SESSION_KIND }),
    reply: Type.Union([FirstSignIn, FirstBrowserSignIn]),
    run: async (call, { body: { session, ...user } }) => {
      const signedIn = await signInWith(call, session, (request) => call.services.accounts.initialize(user, request))
      return { ...signedIn, message: `Carrel is set up; you are signed in as ${user.username}.` }
    },
  }),
]
