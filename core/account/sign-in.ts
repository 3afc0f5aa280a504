import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { Authenticator } from '#core/account/authenticator.ts'
import { hashSecret, makeBrowserToken } from '#core/account/browser-sessions.ts'
import type { Caller } from '#core/account/caller.ts'
import type { KnownDevices } from '#core/account/known-devices.ts'
import type { LoginThrottle } from '#core/account/login-throttle.ts'
import type { Passwords } from '#core/account/password.ts'
import { insertSession, revokeSession, rotateRefreshToken, type SessionKind } from '#core/account/session-store.ts'
import type { Tokens } from '#core/account/token.ts'
import { type User, UserInfo, userInfo } from '#core/account/user.ts'
import { findLogin, recordLogin } from '#core/account/user-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Noun } from '#core/foundation/schema.ts'
import { cutText } from '#core/foundation/text.ts'

const DAY_MS = 86_400_000
const REFRESH_TOKEN_BYTES = 32
/** Those of browsers have some 150 characters; longer ones are cut. */
const USER_AGENT_LENGTH_MAX = 300
/** One text for a wrong password, an unknown name and a disabled account, so that it does not reveal which accounts exist. */
const WRONG_LOGIN = 'The user name or the password is wrong.'
const INVALID_TOKEN = 'This refresh token is not valid any more; sign in again.'

/** The response to a sign-in. `expiresIn` is the lifetime of the access token in seconds. */
export const SignedIn = Noun('SignedIn')({
  accessToken: Type.String(),
  refreshToken: Type.String(),
  tokenType: Type.Literal('Bearer'),
  expiresIn: Type.Integer(),
  user: UserInfo,
})
export type SignedIn = Static<typeof SignedIn>

/** The same for a new account, with a welcome message. */
export const FirstSignIn = Noun('FirstSignIn')({ ...SignedIn.properties, message: Type.String() })

/** The response to a sign-in with a cookie. */
export const BrowserSignedIn = Noun('BrowserSignedIn')({ user: UserInfo })
export type BrowserSignedIn = Static<typeof BrowserSignedIn>

/** The same for a new account, with a welcome message. */
export const FirstBrowserSignIn = Noun('FirstBrowserSignIn')({ ...BrowserSignedIn.properties, message: Type.String() })

/** The session of a browser. Only the cookie has its token. */
interface BrowserSignIn {
  cookieToken: string
  user: UserInfo
}

/** What a sign-in returns, by the kind of the session. */
export interface SignInAnswers {
  tokens: SignedIn
  cookie: BrowserSignIn
}

/** Which session a sign-in begins. */
export interface SessionRequest<Kind extends SessionKind = SessionKind> {
  kind: Kind
  /** How the program names itself, for the list of sessions. */
  userAgent: string | null
}

/** The credentials of a sign-in. */
export interface LoginProof {
  username: string
  password: string
  address: string
  /** The client's device token from an earlier sign-in, and a function that stores the next one. */
  device?: { token: string | null; store(token: string): void }
}

interface SignInOptions {
  database: Knex
  passwords: Passwords
  tokens: Tokens
  throttle: LoginThrottle
  devices: KnownDevices
  callers: Authenticator
  accessTokenSeconds: number
  refreshTokenDays: number
  log: Log
}

interface OpenedSession<Kind extends SessionKind> {
  kind: Kind
  sessionId: string
  /** The first refresh token, or the token for the cookie. */
  secret: string
}

/** Starts and ends sessions. */
export class SignIn {
  readonly #options: SignInOptions

  constructor(options: SignInOptions) {
    this.#options = options
  }

  async #answer(user: User, sessionId: string, refreshToken: string): Promise<SignedIn> {
    const accessToken = await this.#options.tokens.sign({ userId: user.id, sessionId, role: user.role })
    return { accessToken, refreshToken, tokenType: 'Bearer', expiresIn: this.#options.accessTokenSeconds, user: userInfo(user) }
  }

  #expiry(): Date {
    return new Date(Date.now() + this.#options.refreshTokenDays * DAY_MS)
  }

  /** @param passwordHash the hash that the password matched. @returns null when the password has changed since */
  async #openSession<Kind extends SessionKind>(
    { kind, userAgent }: SessionRequest<Kind>,
    user: User,
    passwordHash: string | null,
  ): Promise<OpenedSession<Kind> | null> {
    const secret = kind === 'cookie' ? makeBrowserToken() : makeRefreshToken()
    const sessionId = await insertSession(this.#options.database, {
      userId: user.id,
      passwordHash,
      kind,
      secretHash: hashSecret(secret),
      userAgent: userAgent && cutText(userAgent, USER_AGENT_LENGTH_MAX),
      expiresAt: this.#expiry(),
    })
    return sessionId === null ? null : { kind, sessionId, secret }
  }

  async #complete<Kind extends SessionKind>(user: User, { kind, sessionId, secret }: OpenedSession<Kind>): Promise<SignInAnswers[Kind]> {
    await recordLogin(this.#options.database, user.id)
    const answer = kind === 'cookie' ? { cookieToken: secret, user: userInfo(user) } : await this.#answer(user, sessionId, secret)
    return answer as SignInAnswers[Kind]
  }

  /** Starts a session without a password, for a new account. @throws unauthorized when it was deleted in the meantime */
  async begin<Kind extends SessionKind>(user: User, request: SessionRequest<Kind>): Promise<SignInAnswers[Kind]> {
    return this.#complete(user, (await this.#openSession(request, user, null)) ?? refuse('unauthorized', WRONG_LOGIN))
  }

  /** @throws unauthorized, rate_limit_exceeded, unavailable */
  async login<Kind extends SessionKind>(
    { username, password, address, device }: LoginProof,
    request: SessionRequest<Kind>,
  ): Promise<SignInAnswers[Kind]> {
    const { found, account } = await findLogin(this.#options.database, username)
    const client = { address, device: device?.token ?? null }
    const known = await this.#options.devices.find(found?.user.id ?? null, client)
    const session = await this.#options.throttle.attempt({ account, address, known }, async () => {
      const isRight = await this.#options.passwords.verify(password, found?.passwordHash ?? null)
      // A disabled account costs no more than a wrong password.
      return found?.user.isActive && isRight ? await this.#openSession(request, found.user, found.passwordHash) : null
    })
    if (!found || !session) {
      this.#options.log.info({ address }, 'A sign-in was refused')
      refuse('unauthorized', WRONG_LOGIN)
    }
    if (device) device.store(await this.#options.devices.record(found.user.id, client, known))
    else await this.#options.devices.recordAddress(found.user.id, address)
    return this.#complete(found.user, session)
  }

  /** Exchanges a refresh token; the old one is then invalid. @throws unauthorized */
  async refresh(refreshToken: string): Promise<SignedIn> {
    const next = makeRefreshToken()
    const rotation = await rotateRefreshToken(this.#options.database, {
      tokenHash: hashSecret(refreshToken),
      nextHash: hashSecret(next),
      expiresAt: this.#expiry(),
    })
    if (rotation.outcome === 'rotated') return this.#answer(rotation.user, rotation.sessionId, next)
    if (rotation.outcome === 'reused') {
      this.#options.callers.forget(rotation.userId)
      this.#options.log.warn(
        { userId: rotation.userId, sessionId: rotation.sessionId },
        'A refresh token was used twice; its session was ended',
      )
    }
    refuse('unauthorized', INVALID_TOKEN)
  }

  /** Ends the session of the caller, with all its tokens. An API key has none. */
  async logout({ sessionId, userId }: Caller): Promise<void> {
    if (sessionId === undefined) return
    await revokeSession(this.#options.database, { sessionId, userId })
    this.#options.callers.forget(userId)
  }
}

const makeRefreshToken = (): string => `rt_${randomBytes(REFRESH_TOKEN_BYTES).toString('base64url')}`
