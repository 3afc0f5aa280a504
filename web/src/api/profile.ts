import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { Permission } from '#api/records.ts'

/** The API's longest page: more sessions or keys than anyone looks through. */
const query = { page: 1, pageSize: 500 }

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/auth/sessions', { params: { query }, signal })),
})

export async function endSession(sessionId: string): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/auth/sessions/{sessionId}', { params: { path: { sessionId } } }))
  await refresh(['sessions'])
}

export const apiKeysQuery = queryOptions({
  queryKey: ['api-keys'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/api-keys', { params: { query }, signal })),
})

interface NewKey {
  name: string
  /** Null for all that the user has. */
  permissions: Permission[] | null
  /** ISO time; null for no end. */
  expiresAt: string | null
}

/** @returns the key, which is shown this once */
export async function makeApiKey(key: NewKey): Promise<string> {
  const made = await ask(api.POST('/api/v1/api-keys', { body: key }))
  await refresh(['api-keys'])
  return made.key
}

export async function revokeApiKey(apiKeyId: string): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/api-keys/{apiKeyId}', { params: { path: { apiKeyId } } }))
  await refresh(['api-keys'])
}

export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await ask<unknown>(api.PUT('/api/v1/user/password', { body: { currentPassword, newPassword } }))
  await refresh(['sessions'])
}
