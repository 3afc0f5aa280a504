import type { Static } from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { DEVICE_COOKIE } from '#api/http/authentication.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { PASSWORD_LENGTH_MAX } from '#core/account/password.ts'
import { EditedUser, Password, UserEdit } from '#core/account/user.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Secret } from '#core/foundation/schema.ts'

type Services = AccountServices & Pick<DataServices, 'settings'>
const endpoint = endpointOf<Services>()

const body = Noun('PasswordChange')({
  currentPassword: Secret({
    minLength: 1,
    maxLength: PASSWORD_LENGTH_MAX,
    description: 'Wrong passwords are throttled as at sign-in.',
  }),
  newPassword: Password,
  revokeApiKeys: UserEdit.properties.revokeApiKeys,
})

const changePassword = (call: Call<Services>, given: Static<typeof body>) =>
  call.services.accounts.changePassword(call.caller, given, { address: call.address, device: call.cookie(DEVICE_COOKIE) })

export const ownPasswordRoutes = [
  endpoint({
    name: 'putMyPassword',
    method: 'PUT',
    path: '/api/v1/user/password',
    changes: 'the password, which the request must contain',
    summary: 'Change my password. Ends all my sessions, including this one; revokeApiKeys also revokes my API keys',
    tag: 'user',
    allow: { who: 'user' },
    body,
    reply: EditedUser,
    run: (call, { body }) => changePassword(call, body),
  }),
  endpoint({
    name: 'createChangePassword',
    method: 'POST',
    path: '/api/v1/auth/change-password',
    changes: 'the password, which the request must contain',
    summary: 'Change my password, as PUT /api/v1/user/password; only with compatibility.legacyNames',
    tag: 'auth',
    allow: { who: 'user' },
    body,
    reply: EditedUser,
    run: async (call, { body }) => {
      if (!call.services.settings.compatibility.legacyNames) refuse('not_found', 'This address does not exist.')
      return await changePassword(call, body)
    },
  }),
]
