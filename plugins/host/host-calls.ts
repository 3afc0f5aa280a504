import { createHash, createHmac, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { plainIdentifiers } from '#core/fields/identifier-form.ts'
import { AppError } from '#core/foundation/errors.ts'
import { briefJson } from '#core/foundation/stranger-text.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import type { PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import { ENTRIES_PAGE, type LibraryEntry, listLibraryEntries } from '#plugins/host/library-entry-query.ts'
import { refusedAddresses, requestRules } from '#plugins/host/plugin-rules.ts'
import { deleteStored, listStored, readStored, type StorageOwner, writeStored } from '#plugins/host/plugin-storage-store.ts'
import type { CallRecord } from '#plugins/logs/plugin-logs.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { grantOf } from '#plugins/network/rules.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import { GuestError, refuseGuest } from '#plugins/runtime/guest-error.ts'
import { JsonText } from '#plugins/runtime/guest-text.ts'

/** The caller of host functions: the plugin, the user for whom it runs, and its permissions. */
export interface HostCaller {
  pluginId: string
  key: string
  version: string
  granted: Permissions
  /** Null when the call is not for a user. */
  userId: string | null
  /** Who shares cached responses. */
  cacheScope: string
  auth: PluginAuth
  http: Manifest['http']
  /** As stored, without the defaults of the manifest. */
  config: Readonly<Record<string, unknown>>
  /** Origins in the configuration that may be in the private network. */
  privateOrigins: readonly string[]
  /** Version of the stored data. */
  dataVersion: number
  /** Last part of the path of the running function, such as `search`. */
  method: string
  /** Records the host calls. */
  record: Pick<CallRecord, 'hostCall' | 'fetch'> | undefined
}

export const KEYS_MAX = 1_000
const KEY_LENGTH_MAX = 200
const VALUE_LENGTH_MAX = 256 * 1024
const TTL_SECONDS_MAX = 366 * 86_400
const SLEEP_MS_MAX = 60_000
const TEXT_LENGTH_MAX = 1024 * 1024
/** The form of UUIDs in PostgreSQL. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

type Payload = Record<string, unknown>
type Answer = (payload: Payload, caller: HostCaller, signal: AbortSignal) => Promise<unknown>

/** Handles the host calls of one plugin call. @throws GuestError */
export type AnswerHostCalls = (caller: HostCaller) => (kind: string, payload: unknown, signal: AbortSignal) => Promise<unknown>

export interface HostCallsOptions {
  database: Knex
  egress: Egress
  credentials: Pick<Credentials, 'bound' | 'status'>
}

/** The host functions, each with its own checks: no value from a guest is trusted. */
export function answerHostCalls(options: HostCallsOptions): AnswerHostCalls {
  const answers = answersOf(options)
  return (caller) => async (kind, payload, signal) => {
    const answer = Object.hasOwn(answers, kind) ? answers[kind] : undefined
    // A name of the guest is not one of ours.
    caller.record?.hostCall(answer === undefined ? 'unknown' : kind)
    if (answer === undefined) return refuseGuest('invalid_argument', `Unknown host function ${kind.slice(0, 60)}.`)
    try {
      return await answer(payload !== null && typeof payload === 'object' ? (payload as Payload) : {}, caller, signal)
    } catch (error) {
      // Errors of core are meant for the caller; anything else is not.
      if (error instanceof AppError) return refuseGuest('limit', error.message)
      throw error
    }
  }
}

const answersOf = ({ database, egress, credentials }: HostCallsOptions): Record<string, Answer> => ({
  fetch: (payload, caller, signal) => fetchFor({ egress, credentials }, payload, caller, signal),
  'auth.status': (_payload, caller) => credentials.status(signedInAs(caller), caller.auth),
  'storage.get': async (payload, caller) => {
    const text = await readStored(database, ownerOf(caller), storageKeyOf(payload))
    return text === null ? null : new JsonText(text)
  },
  'storage.set': async (payload, caller) => {
    const limits = { keysMax: KEYS_MAX, bytesMax: caller.granted.storageKB * 1024 }
    await writeStored(
      database,
      ownerOf(caller),
      { key: storageKeyOf(payload), value: storageJsonOf(payload), ttlSeconds: storageTtlOf(payload) },
      limits,
    )
    return null
  },
  'storage.delete': async (payload, caller) => {
    await deleteStored(database, ownerOf(caller), storageKeyOf(payload))
    return null
  },
  'storage.list': (payload, caller) => listStored(database, ownerOf(caller), prefixOf(payload)),
  'library.entries': (payload, caller) => listEntries(database, payload, caller),
  sleep: async ({ ms }, _caller, signal) => {
    if (typeof ms !== 'number' || !(ms >= 0))
      return refuseGuest('invalid_argument', `ctx.sleep needs a number of milliseconds; it is ${briefJson(ms)}.`)
    await sleep(Math.min(ms, SLEEP_MS_MAX), undefined, { signal, ref: false })
    return null
  },
  'crypto.digest': async ({ algorithm, text }) => {
    if (algorithm !== 'sha1' && algorithm !== 'sha256' && algorithm !== 'md5')
      return refuseGuest(
        'invalid_argument',
        `The algorithm of ctx.crypto.digest must be sha1, sha256 or md5; it is ${briefJson(algorithm)}.`,
      )
    return createHash(algorithm).update(textOf('ctx.crypto.digest', text)).digest('hex')
  },
  'crypto.hmac': async ({ algorithm, key, text }) => {
    if (algorithm !== 'sha1' && algorithm !== 'sha256')
      return refuseGuest('invalid_argument', `The algorithm of ctx.crypto.hmac must be sha1 or sha256; it is ${briefJson(algorithm)}.`)
    return createHmac(algorithm, textOf('ctx.crypto.hmac', key)).update(textOf('ctx.crypto.hmac', text)).digest('hex')
  },
  'crypto.randomUUID': async () => randomUUID(),
})

async function fetchFor(
  { egress, credentials }: Pick<HostCallsOptions, 'egress' | 'credentials'>,
  payload: Payload,
  caller: HostCaller,
  signal: AbortSignal,
): Promise<unknown> {
  const { key, version, record } = caller
  const credential = await credentials.bound(signedInAs(caller), caller.auth)
  let contacts = 0
  const rules = requestRules(caller, egress.local)
  const note = (host: string, outcome: number | string, bytes: number, cached: boolean) =>
    record?.fetch(host, outcome, bytes, cached, { grant: grantOf(host, rules) })
  const policy = {
    caller: key,
    credential,
    cacheScope: caller.cacheScope,
    rules,
    userAgent: `Carrel (plugin ${key} ${version})`,
    rates: caller.http?.rateLimit,
    cacheSeconds: caller.http?.cacheTtl?.[caller.method as keyof CacheTtl],
    onContact: (host: string, outcome: number | string, bytes: number) => {
      contacts += 1
      note(host, outcome, bytes, false)
    },
  }
  try {
    const { cached, ...response } = await egress.fetch(payload, policy, signal)
    if (cached === true) note(hostOf(response.url), response.status, response.body.length, true)
    return response
  } catch (error) {
    // Refused before anybody was contacted.
    if (contacts === 0) note(hostOf(payload['url']), error instanceof GuestError ? (error.own ?? error.code) : 'server', 0, false)
    if (!(error instanceof GuestError) || error.own !== 'permission' || contacts > 0) throw error
    // The author's tool is no server, and says what to do itself.
    if (egress.local?.isSelf === undefined) throw error
    // The rules say nothing of it: it was allowed when it was entered.
    const origin = URL.parse(String(payload['url']))?.origin
    const refused = refusedAddresses(caller, egress.local).find((one) => one.origin === origin)
    if (refused === undefined) throw error
    return refuseGuest('permission', refused.problem)
  }
}

/** The user whose library a call reads. @throws GuestError permission */
export function readerOfLibrary({ granted, userId }: Pick<HostCaller, 'granted' | 'userId'>): string {
  if (granted.library.length === 0)
    refuseGuest('permission', 'This plugin has no permission to read the library: its manifest has no permissions.library.')
  return userId ?? refuseGuest('permission', 'This call is not for a user, so there is no library to read.')
}

async function listEntries(database: Knex, { cursor }: Payload, caller: HostCaller): Promise<unknown> {
  const { granted, pluginId } = caller
  const userId = readerOfLibrary(caller)
  if (cursor !== null && cursor !== undefined && !(typeof cursor === 'string' && UUID.test(cursor)))
    refuseGuest('invalid_argument', 'This server did not issue the cursor.')
  const entries = await listLibraryEntries(database, { userId, pluginId }, (cursor as string | undefined) ?? null)
  return {
    entries: entries.map((entry) => entryView(entry, granted.library)),
    nextCursor: entries.length < ENTRIES_PAGE ? null : (entries.at(-1)?.seriesId ?? null),
  }
}

/** For a plugin that uses storage without the permission. */
export const NO_STORAGE =
  'This plugin has no storage: its manifest has no permissions.storage, which names the size, such as { "quotaKB": 256 }.'

function ownerOf({ pluginId, userId, granted, dataVersion }: HostCaller): StorageOwner {
  if (granted.storageKB === 0) refuseGuest('permission', NO_STORAGE)
  return { pluginId, userId, dataVersion }
}

/** The key of a storage call. @throws GuestError */
export const storageKeyOf = ({ key }: Payload): string =>
  typeof key === 'string' && key !== '' && key.length <= KEY_LENGTH_MAX && !key.includes('\0') && key.isWellFormed()
    ? key
    : refuseGuest(
        'invalid_argument',
        `A key of ctx.storage must be a text of 1 to ${KEY_LENGTH_MAX} characters without NUL; it is ${briefJson(key)}.`,
      )

const prefixOf = ({ prefix }: Payload): string =>
  typeof prefix === 'string' ? prefix.slice(0, KEY_LENGTH_MAX).replaceAll('\0', '').toWellFormed() : ''

/** Says the type alone: the text may be a secret. */
const textOf = (what: string, value: unknown): string =>
  typeof value === 'string' && value.length <= TEXT_LENGTH_MAX
    ? value
    : refuseGuest(
        'invalid_argument',
        `${what} needs texts of at most ${TEXT_LENGTH_MAX} characters; one is ${typeof value === 'string' ? `of ${value.length}` : `no text but ${value === undefined ? 'nothing' : `of type ${typeof value}`}`}.`,
      )

/** The value of a storage call as JSON. @throws GuestError */
export function storageJsonOf({ value: given = null }: Payload): string {
  // PostgreSQL text stores neither NUL, which JSON escapes, nor lone surrogates.
  const value = (given instanceof JsonText ? given.text : JSON.stringify(given)).toWellFormed()
  return value.length > VALUE_LENGTH_MAX ? refuseGuest('limit', `A value may have at most ${VALUE_LENGTH_MAX} characters as JSON.`) : value
}

/** @throws GuestError */
export function storageTtlOf({ ttlSeconds }: Payload): number | null {
  if (ttlSeconds === undefined || ttlSeconds === null) return null
  if (typeof ttlSeconds === 'number' && ttlSeconds > 0 && ttlSeconds <= TTL_SECONDS_MAX) return ttlSeconds
  return refuseGuest(
    'invalid_argument',
    `ttlSeconds must be a number above 0 and at most ${TTL_SECONDS_MAX}; it is ${briefJson(ttlSeconds)}.`,
  )
}

type CacheTtl = NonNullable<NonNullable<Manifest['http']>['cacheTtl']>

const hostOf = (url: unknown): string => (typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : '')

/** The owner of the credentials to use: the server, or the user for whom the plugin runs. */
const signedInAs = ({ pluginId, userId, auth }: HostCaller) => ({ pluginId, userId: auth?.scope === 'user' ? userId : null })

/** The members of an entry that the permissions allow. */
export function entryView(entry: LibraryEntry, scopes: readonly string[]): Partial<LibraryEntry> {
  const { seriesId, title, alternateTitles, year, genres, tags, authors, summary, language, status, addedAt, bookCount } = entry
  const { communityRating, externalIds, rating, booksRead, booksStarted, lastReadAt, readers } = entry
  return {
    seriesId,
    ...(scopes.includes('series.titles') && { title, alternateTitles }),
    ...(scopes.includes('series.metadata') && {
      year,
      genres,
      tags,
      authors,
      summary,
      language,
      status,
      addedAt,
      bookCount,
      communityRating,
    }),
    ...(scopes.includes('series.externalIds') && { externalIds: plainIdentifiers(externalIds) }),
    ...(scopes.includes('reading.progress') && { booksRead, booksStarted, lastReadAt, readers }),
    ...(scopes.includes('ratings') && { rating }),
  }
}
