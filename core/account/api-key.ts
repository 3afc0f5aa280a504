import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Static } from 'typebox'
import Type from 'typebox'
import { AccessRule, AccessRuleEdit } from '#core/account/access.ts'
import { hashSecret } from '#core/account/browser-sessions.ts'
import { PermissionName, PermissionNames } from '#core/account/user.ts'
import { NameText, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** 64 bits find the row without ever colliding in practice; they are not secret. */
const PREFIX_BYTES = 8
/** 256 bits cannot be guessed, so one fast hash is enough: a slow one would only slow every request down. */
const SECRET_BYTES = 32
const KEY = /^(carrel_[0-9a-f]{16})_[0-9a-f]{64}$/

/** An API key without its secret. `access` is its own rule, which counts beside those of its user; null if it has none. */
export const ApiKey = Noun('ApiKey')({
  id: Uuid,
  userId: Uuid,
  name: Type.String(),
  keyPrefix: Type.String(),
  permissions: Type.Array(PermissionName),
  isActive: Type.Boolean(),
  expiresAt: Nullable(Timestamp),
  lastUsedAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  access: Nullable(AccessRule),
})
export type ApiKey = Static<typeof ApiKey>
/** A key as its credential is checked, which needs no rule: queries of what may be seen read that themselves. */
export type ApiKeyRecord = Omit<ApiKey, 'access'>

/** The response to creating a key: the only one that contains the key itself. */
export const NewApiKeyAnswer = Noun('NewApiKeyAnswer')({ ...ApiKey.properties, key: Type.String() })
export type NewApiKeyAnswer = Static<typeof NewApiKeyAnswer>

const Name = NameText({ minLength: 1, maxLength: 200 })
export const NewApiKey = Noun('NewApiKey')({
  name: Name,
  permissions: Type.Optional(Nullable(PermissionNames)),
  expiresAt: Type.Optional(Nullable(Timestamp)),
  access: Type.Optional(Nullable(AccessRuleEdit, { description: 'Hides from the key what its user sees beyond it.' })),
})
export type NewApiKey = Static<typeof NewApiKey>

/** Null clears `expiresAt`, and removes the rule in `access`; in other members null changes nothing. */
export const ApiKeyEdit = Noun('ApiKeyEdit')({
  name: Type.Optional(Nullable(Name)),
  permissions: Type.Optional(Nullable(PermissionNames)),
  isActive: Type.Optional(Nullable(Type.Boolean())),
  expiresAt: Type.Optional(Nullable(Timestamp)),
  access: Type.Optional(Nullable(AccessRuleEdit)),
})
export type ApiKeyEdit = Static<typeof ApiKeyEdit>

/** Generates a key; only its prefix and hash are stored. */
export function makeApiKey(): { key: string; keyPrefix: string; keyHash: Uint8Array } {
  const keyPrefix = `carrel_${randomBytes(PREFIX_BYTES).toString('hex')}`
  const key = `${keyPrefix}_${randomBytes(SECRET_BYTES).toString('hex')}`
  return { key, keyPrefix, keyHash: hashSecret(key) }
}

/** The prefix of a text that has the format of a key, or null. */
export function findKeyPrefix(text: string): string | null {
  return KEY.exec(text)?.[1] ?? null
}

/** Whether a key has this hash, compared in constant time. */
export function isApiKey(key: string, keyHash: Uint8Array): boolean {
  return timingSafeEqual(hashSecret(key), keyHash)
}
