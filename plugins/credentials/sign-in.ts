import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import type { PluginUser } from '#core/matching/provider-client.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { addSignIn, takeSignIn } from '#plugins/credentials/sign-in-store.ts'
import { requestTokens, type ServiceTokens, TokenError, type TokenServices } from '#plugins/credentials/sign-in-tokens.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** A plugin at whose service users sign in. */
interface SignInPlugin {
  id: string
  key: string
  version: string
  state: string
  manifest: Manifest
}

/** A failed sign-in; `message` is for the user, who sees it in a browser. */
export class SignInError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SignInError'
  }
}

/** The parameters with which a service redirects the browser back. */
export interface SignInAnswer {
  state: string | undefined
  code: string | undefined
  error: string | undefined
  /** The secret from the cookie of the browser; null when it has none. */
  browserKey: string | null
  /** The user who is signed in to this server in that browser, if known. */
  userId: string | null
}

export interface SignInBegun {
  redirectUrl: string
  /** Name of its cookie: one for each sign-in, several of which may be pending. */
  cookieName: string
  browserKey: string
  seconds: number
}

/** The cookie name of a sign-in, by its state; the name reveals no secret. */
export const signInCookieName = (state: string): string => `carrel_sign_in_${sha256(state).digest('hex').slice(0, 16)}`

type OAuth2 = NonNullable<NonNullable<Manifest['auth']>['oauth2']>

/** The encrypted part of the row of a sign-in. */
interface PendingSignIn {
  verifier: string
  redirectUri: string
}

/** Time to find a password and a second factor; after that the URL is useless to others. */
const PENDING_SECONDS = 600
/** More concurrent sign-ins of one user than anybody needs. */
const PENDING_MAX = 3
/** 32 bytes as base64url: a state, or the secret of a browser. */
const STATE = /^[A-Za-z0-9_-]{43}$/
/** Some services send signed tokens as codes. */
const CODE_LENGTH_MAX = 4_000
const ERROR_WORD = /^[a-z_]{1,64}$/

const sha256 = (text: string) => createHash('sha256').update(text)

interface SignInsOptions extends TokenServices {
  database: Knex
  credentials: Credentials
  findPlugin: (id: string) => Promise<SignInPlugin | null>
  /** Whether the user still has the plugin enabled, and has agreed to where its sign-in goes; locked until the transaction ends. */
  mayConnect: (trx: Knex, user: PluginUser) => Promise<boolean>
}

export class SignIns {
  readonly #options: SignInsOptions

  constructor(options: SignInsOptions) {
    this.#options = options
  }

  /**
   * Starts a sign-in at the service of a plugin (RFC 6749, 4.1, with RFC 7636).
   * @param redirectUri to which the service redirects the browser
   * @returns the URL to which to redirect the browser, and the secret for its cookie
   * @throws invalid_request when the plugin has no sign-in, conflict when an administrator has not set it up, rate_limit_exceeded
   */
  async begin(plugin: SignInPlugin, userId: string, redirectUri: string): Promise<SignInBegun> {
    const { auth } = plugin.manifest
    const quoted = quotedText(plugin.manifest.name)
    if (auth?.type !== 'oauth2' || auth.oauth2 === undefined || auth.scope !== 'user')
      return refuse('invalid_request', `${quoted} has no service to sign in to.`)
    const { clientId } = await this.#clientOf(plugin)
    if (clientId === undefined)
      return refuse('conflict', `An administrator has to give the client id of ${quoted} first, which its service knows this server by.`)
    const state = generateRandomState()
    const browserKey = generateRandomState()
    const pending: PendingSignIn = { verifier: generateRandomCodeVerifier(), redirectUri }
    await this.#keep({ state, browserKey, pending, user: { pluginId: plugin.id, userId } })
    const url = await authorizationUrl(auth.oauth2, { clientId, state, pending })
    // The manifest allows only https; check again, so that a later change of the manifest cannot send browsers elsewhere.
    if (url.protocol !== 'https:') return refuse('conflict', `${quoted} has no valid URL for signing in.`)
    return { redirectUrl: url.href, cookieName: signInCookieName(state), browserKey, seconds: PENDING_SECONDS }
  }

  /** Redeems the code, once. Returns whose sign-in it was. @throws SignInError */
  async finish(answer: SignInAnswer): Promise<PluginUser & { plugin: SignInPlugin }> {
    const { user, plugin, oauth2, pending } = await this.#take(answer)
    const code = codeOf(answer, plugin.manifest.name)
    const { clientId, clientSecret } = await this.#clientOf(plugin)
    if (clientId === undefined) throw unknownSignIn()
    try {
      const tokens = await requestTokens(this.#options, {
        tokenUrl: oauth2.tokenUrl,
        plugin,
        userId: user.userId,
        client: { clientId, clientSecret },
        grant: {
          grant_type: 'authorization_code',
          code,
          redirect_uri: pending.redirectUri,
          ...(oauth2.pkce !== false && { code_verifier: pending.verifier }),
        },
        allow: () => this.#allow(user, plugin),
      })
      await this.#connect(user, plugin, tokens)
    } catch (failure) {
      if (failure instanceof TokenError || failure instanceof AppError)
        throw new SignInError(`${quotedText(plugin.manifest.name)} was not connected: ${failure.message}`)
      throw failure
    }
    return { ...user, plugin }
  }

  /** Stores a sign-in until the browser returns. @throws rate_limit_exceeded */
  async #keep({
    state,
    browserKey,
    pending,
    user,
  }: {
    state: string
    browserKey: string
    pending: PendingSignIn
    user: PluginUser
  }): Promise<void> {
    const { database, credentials } = this.#options
    const stateHash = sha256(state).digest('hex')
    const browserHash = sha256(browserKey).digest('hex')
    const sealed = credentials.seal(JSON.stringify(pending), belongsTo(stateHash, user))
    const waitSeconds = await addSignIn(
      database,
      { stateHash, browserHash, ...user, ...sealed },
      { seconds: PENDING_SECONDS, pendingMax: PENDING_MAX },
    )
    if (waitSeconds !== null)
      refuse('rate_limit_exceeded', `${PENDING_MAX} sign-ins are already pending. Complete one of them first.`, {
        retryAfterSeconds: Math.max(waitSeconds, 1),
      })
  }

  /** Takes the sign-in of a returning browser out of the store. @throws SignInError */
  async #take({
    state,
    browserKey,
    userId,
  }: SignInAnswer): Promise<{ user: PluginUser; plugin: SignInPlugin; oauth2: OAuth2; pending: PendingSignIn }> {
    const { database, findPlugin, credentials } = this.#options
    if (state === undefined || !STATE.test(state) || browserKey === null || !STATE.test(browserKey)) throw unknownSignIn()
    const stateHash = sha256(state).digest('hex')
    const signIn = await takeSignIn(database, stateHash, sha256(browserKey).digest('hex'))
    if (signIn === null) throw unknownSignIn()
    // An attacker's link may have led another user's browser here: the attacker's account must not be connected to that user.
    if (userId !== null && userId !== signIn.userId) throw new SignInError('Another user started this sign-in. Nothing was connected.')
    const plugin = await findPlugin(signIn.pluginId)
    const oauth2 = plugin?.manifest.auth?.oauth2
    const text = credentials.open(signIn.sealed, signIn.keyId, belongsTo(stateHash, signIn))
    if (plugin === null || plugin.state !== 'enabled' || oauth2 === undefined || text === null) throw unknownSignIn()
    return { user: { pluginId: signIn.pluginId, userId: signIn.userId }, plugin, oauth2, pending: JSON.parse(text) as PendingSignIn }
  }

  /** @throws SignInError while the user may not connect the plugin */
  async #allow(user: PluginUser, plugin: SignInPlugin): Promise<void> {
    const { database, findPlugin, mayConnect } = this.#options
    const now = await findPlugin(plugin.id)
    if (now?.state !== 'enabled' || !(await mayConnect(database, user))) throw disabled(plugin)
  }

  async #connect(user: PluginUser, { manifest }: SignInPlugin, { accessToken, refreshToken, expiresAt }: ServiceTokens): Promise<void> {
    const { credentials, mayConnect } = this.#options
    const tokens = { accessToken, ...(refreshToken !== null && { refreshToken }) }
    // A user who has disabled the plugin meanwhile gets no credentials.
    if (!(await credentials.set(user, manifest.auth, tokens, expiresAt, (trx) => mayConnect(trx, user)))) throw disabled({ manifest })
  }

  /** The client credentials of this server at the service; none when they were entered for another. */
  async #clientOf({ id: pluginId, manifest }: SignInPlugin): Promise<Record<string, string>> {
    return await this.#options.credentials.reveal({ pluginId, userId: null }, manifest.auth)
  }
}

const unknownSignIn = () =>
  new SignInError('This sign-in is unknown: it was started in another browser, was completed before, or took too long. Start again.')

const disabled = ({ manifest: { name } }: Pick<SignInPlugin, 'manifest'>) =>
  new SignInError(`${quotedText(name)} was disabled or changed meanwhile. Nothing was connected.`)

const belongsTo = (stateHash: string, { pluginId, userId }: PluginUser) => ['sign-in', stateHash, pluginId, userId]

/** The URL at which the user signs in (RFC 6749, 4.1.1, with RFC 7636). */
async function authorizationUrl(
  { authorizeUrl, scopes = [], pkce }: OAuth2,
  { clientId, state, pending }: { clientId: string; state: string; pending: PendingSignIn },
): Promise<URL> {
  const url = new URL(authorizeUrl)
  const query = { response_type: 'code', client_id: clientId, redirect_uri: pending.redirectUri, state }
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
  if (scopes.length > 0) url.searchParams.set('scope', scopes.join(' '))
  if (pkce !== false) {
    url.searchParams.set('code_challenge', await calculatePKCECodeChallenge(pending.verifier))
    url.searchParams.set('code_challenge_method', 'S256')
  }
  return url
}

/** @throws SignInError when the service sent no code */
function codeOf({ error, code }: SignInAnswer, name: string): string {
  if (error !== undefined) {
    const word = ERROR_WORD.test(error) ? ` (${error})` : ''
    throw new SignInError(`The service did not let ${quotedText(name)} in${word}. Nothing was connected.`)
  }
  if (code === undefined || code === '' || code.length > CODE_LENGTH_MAX)
    throw new SignInError('The service sent no code. Nothing was connected.')
  return code
}
