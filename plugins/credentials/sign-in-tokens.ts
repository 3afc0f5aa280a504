import {
  ClientSecretPost,
  customFetch,
  genericTokenEndpointRequest,
  None,
  OperationProcessingError,
  processGenericTokenEndpointResponse,
  type TokenEndpointResponse,
  UnsupportedOperationError,
} from 'oauth4webapi'
import { parseObject } from '#core/foundation/plain-object.ts'
import type { CredentialOwner } from '#plugins/credentials/plugin-credential-store.ts'
import type { PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { Egress, OnContact } from '#plugins/network/egress.ts'
import { recordContacts } from '#plugins/network/recorded-contacts.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** The response of a service to a code or a refresh token. */
export interface ServiceTokens {
  accessToken: string
  /** Null when the response has none: the previous one stays valid. */
  refreshToken: string | null
  /** Null when the access token does not expire. */
  expiresAt: Date | null
}

/**
 * - `refused`: the service refuses, and will refuse again
 * - `unreachable`: the service is unreachable now, or its response is invalid
 */
export class TokenError extends Error {
  readonly code: 'refused' | 'unreachable'

  /** @param message for people: it names the host and the problem, and of the request and the response only an error word */
  constructor(code: 'refused' | 'unreachable', message: string) {
    super(message)
    this.name = 'TokenError'
    this.code = code
  }
}

/** Does work for a plugin that ends when it is not allowed any more; see IsolateChecks. */
type WhileAllowed = <Right, Value>(
  of: CredentialOwner,
  allow: () => Promise<Right>,
  signal: AbortSignal,
  work: (right: Right, signal: AbortSignal) => Promise<Value>,
) => Promise<Value>

export interface TokenServices {
  egress: Egress
  logs: PluginLogs
  whileAllowed: WhileAllowed
}

interface TokenRequest {
  /** From the manifest that an administrator has approved: https, a host name, no port. */
  tokenUrl: string
  /** The plugin, for the rate limit of the host and the record of the contact. */
  plugin: { id: string; key: string; version: string }
  /** The user whose tokens these are; null for the server's. */
  userId: string | null
  client: { clientId: string; clientSecret?: string | undefined }
  grant:
    | { grant_type: 'authorization_code'; code: string; redirect_uri: string; code_verifier?: string }
    | { grant_type: 'refresh_token'; refresh_token: string }
  /** Throws while the request is not allowed. */
  allow: () => Promise<unknown>
}

/** Signed tokens have some thousand characters. */
const TOKEN_LENGTH_MAX = 10_000
/** Two such tokens and other members. */
const ANSWER_LENGTH_MAX = 64 * 1024
/** Characters allowed in a header; RFC 6750 allows fewer. */
const TOKEN = /^[\x21-\x7e]+$/
/** RFC 6749, 5.2. */
const ERROR_WORD = /^[a-z_]{1,64}$/
/** A longer life means no expiry; and dates do not overflow. */
const SECONDS_MAX = 10 * 365 * 86_400
/** Shorter than people wait in a browser. */
const DEADLINE_MS = 15_000

/**
 * Sends a request to a token endpoint (RFC 6749, 3.2) through the egress of plugins: https to a public address, with limits, and nowhere else.
 * After a withdrawal it sends nothing, however long the request has waited for the rate of the host.
 * @throws TokenError, and what `allow` throws
 */
export async function requestTokens({ egress, logs, whileAllowed }: TokenServices, request: TokenRequest): Promise<ServiceTokens> {
  const { userId, allow, plugin } = request
  const { id: pluginId, key, version } = plugin
  // The one host that it may contact is in the manifest.
  const about = { pluginId, key, version, method: 'sign-in', userId, codeOf, grantOf: (host: string) => host }
  return await whileAllowed({ pluginId, userId }, allow, AbortSignal.timeout(2 * DEADLINE_MS), (_right, signal) =>
    recordContacts(logs, about, (onContact) => sendGrant(egress, request, { onContact, signal })),
  )
}

const codeOf = (error: unknown): string => (error instanceof TokenError ? (error.code === 'refused' ? 'auth' : 'upstream') : 'server')

async function sendGrant(
  egress: Egress,
  { tokenUrl, plugin, client, grant }: TokenRequest,
  sending: Pick<ServiceRequest, 'onContact' | 'signal'>,
): Promise<ServiceTokens> {
  const { hostname: host, origin } = new URL(tokenUrl)
  const server = { issuer: origin, token_endpoint: tokenUrl }
  const itself = { client_id: client.clientId }
  const authentication = client.clientSecret === undefined ? None() : ClientSecretPost(client.clientSecret)
  const { grant_type, ...parameters } = grant
  try {
    const response = await genericTokenEndpointRequest(server, itself, authentication, grant_type, parameters, {
      [customFetch]: (url, { body }) => requestService(egress, { url, host, caller: plugin.key, form: String(body), ...sending }),
    })
    return readTokens(await processGenericTokenEndpointResponse(server, itself, response), host)
  } catch (error) {
    if (error instanceof OperationProcessingError || error instanceof UnsupportedOperationError)
      throw new TokenError('unreachable', `${host} returned no usable tokens.`)
    throw error
  }
}

interface ServiceRequest {
  url: string
  host: string
  caller: string
  form: string
  onContact: OnContact
  signal: AbortSignal
}

/** The response of a service that accepts the request. @throws TokenError */
async function requestService(egress: Egress, { url, host, caller, form, onContact, signal }: ServiceRequest): Promise<Response> {
  const answer = await egress
    .fetch(
      {
        url,
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
        body: form,
        timeoutMs: DEADLINE_MS,
      },
      // One host and one method: a redirect that becomes a GET or leads elsewhere is refused. Nothing is sent later, when the user may have left.
      {
        caller,
        onContact,
        isRepeated: false,
        rules: [{ host, methods: ['POST'] }],
        userAgent: `Carrel (sign-in for the plugin ${caller})`,
      },
      signal,
    )
    .catch((error: unknown) => {
      if (error instanceof GuestError) throw new TokenError('unreachable', error.message)
      throw error
    })
  const given = answer.body.length > ANSWER_LENGTH_MAX ? null : parseObject(answer.body)
  const word = typeof given?.['error'] === 'string' && ERROR_WORD.test(given['error']) ? ` (${given['error']})` : ''
  const { status } = answer
  if (status === 400 || status === 401 || status === 403) throw new TokenError('refused', `${host} refused it${word}.`)
  if (status !== 200 && status !== 201) throw new TokenError('unreachable', `${host} answered ${status}${word}.`)
  // Some services send errors with status 200.
  if (word !== '' && given?.['access_token'] === undefined) throw new TokenError('refused', `${host} refused it${word}.`)
  return Response.json(given === null ? null : strictly(given))
}

/**
 * Corrects a response to RFC 6749, 5.1: some services omit the type, or send an invalid expiry or refresh token. Leaves out the OpenID `id_token`:
 * the server does not use it, and a manifest has nothing to verify it with.
 */
function strictly({ access_token, token_type = 'bearer', refresh_token, expires_in }: Record<string, unknown>): Record<string, unknown> {
  const seconds = typeof expires_in === 'string' && /^\d{1,12}$/.test(expires_in) ? Number(expires_in) : expires_in
  return {
    access_token,
    token_type,
    ...(isToken(refresh_token) && { refresh_token }),
    ...(typeof seconds === 'number' && seconds > 0 && seconds <= SECONDS_MAX && { expires_in: seconds }),
  }
}

const isToken = (value: unknown): value is string => typeof value === 'string' && value.length <= TOKEN_LENGTH_MAX && TOKEN.test(value)

function readTokens(
  { access_token: accessToken, token_type: type, refresh_token, expires_in }: TokenEndpointResponse,
  host: string,
): ServiceTokens {
  if (!isToken(accessToken)) throw new TokenError('unreachable', `${host} returned no usable access token.`)
  // Other types require a proof with each request, which the server cannot make.
  if (type !== 'bearer') throw new TokenError('unreachable', `${host} returned tokens of another type than Bearer.`)
  const expiresAt = expires_in === undefined ? null : new Date(Date.now() + expires_in * 1000)
  return { accessToken, refreshToken: refresh_token ?? null, expiresAt }
}
