import Type from 'typebox'
import { DEVICE_COOKIE } from '#api/http/authentication.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { PASSWORD_LENGTH_MAX } from '#core/account/password.ts'
import { EditedUser, Password, UserEdit } from '#core/account/user.ts'
import { Secret } from '#core/foundation/schema.ts'

type Services = Needs<'accounts'>
const endpoint = endpointOf<Services>()

export const ownPasswordRoutes = [
  endpoint({
    method: 'PUT',
    path: '/api/v1/user/password',
    changes: 'the password, which the request must contain',
    summary: 'Change my password. Ends all my sessions, including this one; revokeApiKeys also revokes my API keys',
    tag: 'user',
    allow: { who: 'user' },
    body: Type.Object({
      currentPassword: Secret({
        minLength: 1,
        maxLength: PASSWORD_LENGTH_MAX,
        description: 'Wrong passwords are throttled as at sign-in.',
      }),
      newPassword: Password,
      revokeApiKeys: UserEdit.properties.revokeApiKeys,
    }),
    reply: EditedUser,
    run: (call, { body }) => {
      const { address } = call
      return call.services.accounts.changePassword(call.caller, body, { address, device: call.cookie(DEVICE_COOKIE) })
    },
  }),
]
