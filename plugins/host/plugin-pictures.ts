import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { findUser } from '#core/account/user-store.ts'
import { SingleFlight } from '#core/database/single-flight.ts'
import type { ResizeImage } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { type ErrorCode, refuse } from '#core/foundation/errors.ts'
import type { DownloadCover, PluginUser } from '#core/matching/provider-client.ts'
import { mapAddresses } from '#plugins/host/answer-addresses.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { PictureTokens } from '#plugins/host/picture-token.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { checkedAddress, linkRules, requestRules } from '#plugins/host/plugin-rules.ts'
import { cacheScopeOf, getRunnable } from '#plugins/host/runnable.ts'
import { findUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { PICTURE_METHOD, type PluginLogs } from '#plugins/logs/plugin-logs.ts'
import { isScopeOf } from '#plugins/network/cache.ts'
import { CoverError, type CoverErrorCode, downloadCover } from '#plugins/network/cover-download.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import { recordContacts } from '#plugins/network/recorded-contacts.ts'
import { grantOf } from '#plugins/network/rules.ts'

/** Longer side of a picture for readers: a cover in a list, sharp on a telephone. */
const LONGEST_SIDE = 480
/** Some 500 pictures. */
const CACHE_BYTES_MAX = 16 * 1024 * 1024
/** As long as a token is valid. */
const CACHE_MS = 24 * 3_600_000

/** The plugin that gave an answer, and the user who receives it. */
interface Shown {
  plugin: InstalledPlugin
  userId: string
  /** See PictureTokens. */
  ownId: string | null
}

interface DrawnPicture {
  webp: Uint8Array
  etag: string
}

interface PicturesOptions {
  database: Knex
  egress: Pick<HttpsEgress, 'local' | 'download'>
  pluginCalls: Pick<PluginCalls, 'whileAllowed' | 'onWithdrawal'>
  pluginLogs: PluginLogs
  resizeImage: ResizeImage
  /** See CredentialBox. */
  secrets: readonly string[]
  /** False in safe mode. */
  enabled: boolean
}

const REFUSALS: Readonly<Record<CoverErrorCode, ErrorCode>> = {
  invalid_address: 'not_found',
  not_found: 'not_found',
  permission: 'conflict',
  not_a_picture: 'invalid_value',
  too_large: 'invalid_value',
  upstream: 'service_failed',
  timeout: 'service_failed',
  rate_limited: 'unavailable',
  closed: 'unavailable',
}
const UNKNOWN =
  'There is no such picture for you: addresses of pictures are valid for a day, for the user who received them. Get the list again.'

/**
 * The pictures that plugins name in their answers. Readers receive tokens for them, so that the server contacts the hosts, and only those that
 * the plugin may contact.
 */
export class PluginPictures {
  readonly #options: PicturesOptions
  readonly #tokens: PictureTokens
  /** With the scope of those who share it. */
  readonly #cache = new BoundedCache<{ picture: DrawnPicture; scope: string }>({ bytesMax: CACHE_BYTES_MAX, ttl: CACHE_MS })
  readonly #underWay = new SingleFlight()
  /** How often something was forgotten. */
  #forgets = 0

  constructor(options: PicturesOptions) {
    this.#options = options
    this.#tokens = new PictureTokens(options.secrets)
    options.pluginCalls.onWithdrawal((withdrawal) => {
      this.#forgets += 1
      this.#cache.forget(({ scope }) => isScopeOf(scope, withdrawal))
    })
  }

  /** The `ownId` of pictures in answers to a user for whom the plugin works; null when the user does not have it. */
  async ownIdOf(user: PluginUser): Promise<string | null> {
    return (await findUserPlugin(this.#options.database, user))?.id ?? null
  }

  /** A token for a picture of an answer; null when there is no picture, or the plugin may not contact its host. */
  tokenOf(url: string | null | undefined, { plugin, userId, ownId }: Shown): string | null {
    const checked = url ? checkedAddress(url, requestRules(plugin, this.#options.egress.local)) : null
    return checked && 'href' in checked ? this.#tokens.make({ pluginId: plugin.id, userId, url: checked.href, ownId }) : null
  }

  /** A link of an answer; null when its host is not one of the plugin any more. */
  linkOf(url: string | null | undefined, plugin: InstalledPlugin): string | null {
    const checked = url ? checkedAddress(url, linkRules(plugin, this.#options.egress.local)) : null
    return checked && 'href' in checked ? checked.href : null
  }

  /** The answer of a method with `addressOf` of the tokens of its pictures. */
  show<Answer>(method: string, answer: Answer, shown: Shown, addressOf: (token: string) => string): Answer {
    return mapAddresses(method, answer, (address, kind) => {
      if (kind === 'link') return this.linkOf(address, shown.plugin)
      const token = this.tokenOf(address, shown)
      return token && addressOf(token)
    })
  }

  /** @throws not_found, conflict, invalid_value, service_failed, unavailable */
  async get({ pluginId, userId }: { pluginId: string; userId: string }, token: string, signal: AbortSignal): Promise<DrawnPicture> {
    const picture = this.#tokens.read(token, { pluginId, userId }) ?? refuse('not_found', UNKNOWN)
    const { url, ownId } = picture
    const allow = async () => {
      if (ownId === null && (await findUser(this.#options.database, userId))?.isActive !== true) refuse('not_found', UNKNOWN)
      const runnable = await this.#allow(pluginId, url, ownId === null ? null : userId)
      if ((runnable.own?.id ?? null) !== ownId) refuse('not_found', UNKNOWN)
      return runnable
    }
    try {
      return await this.#options.pluginCalls.whileAllowed({ pluginId, userId }, allow, signal, async ({ plugin, own }, signal) => {
        const scope = cacheScopeOf(pluginId, own)
        const key = JSON.stringify([scope, url])
        const known = this.#cache.get(key)
        if (known !== undefined) return known.picture
        return await this.#underWay.join(key, signal, async (signal) => {
          const forgets = this.#forgets
          const drawn = await this.#draw(plugin, { url, userId, signal })
          // What was to be forgotten meanwhile must not return.
          if (this.#forgets === forgets) this.#cache.set(key, { picture: drawn, scope })
          return drawn
        })
      })
    } catch (error) {
      if (error instanceof CoverError) return refuse(REFUSALS[error.code], error.message)
      throw error
    }
  }

  /** The plugin, when it may contact the host of a picture. @throws not_found, conflict, CoverError */
  async #allow(pluginId: string, url: string, userId: string | null): ReturnType<typeof getRunnable> {
    const runnable = await getRunnable(this.#options, pluginId, userId)
    const checked = checkedAddress(url, requestRules(runnable.plugin, this.#options.egress.local))
    if ('problem' in checked) throw new CoverError('permission', checked.problem)
    return runnable
  }

  /** The picture unchanged, for the server. */
  readonly download: DownloadCover = async ({ url, pluginId, userId, signal }) => {
    const allow = () => this.#allow(pluginId, url, null)
    try {
      return await this.#options.pluginCalls.whileAllowed({ pluginId, userId }, allow, signal, ({ plugin }, signal) =>
        this.#fetch(plugin, { url, userId, signal }),
      )
    } catch (error) {
      if (error instanceof CoverError) return { failure: { code: error.code, message: error.message } }
      throw error
    }
  }

  /** @throws CoverError */
  #fetch(plugin: InstalledPlugin, { url, userId, signal }: { url: string; userId: string | null; signal: AbortSignal }) {
    const { egress, pluginLogs } = this.#options
    const { id: pluginId, key, version, manifest } = plugin
    const codeOf = (error: unknown) => (error instanceof CoverError ? error.code : 'server')
    const rules = requestRules(plugin, egress.local)
    const about = { pluginId, key, version, method: PICTURE_METHOD, userId, codeOf, grantOf: (host: string) => grantOf(host, rules) }
    return recordContacts(pluginLogs, about, (onContact) =>
      downloadCover(egress, { url, caller: key, rules, rates: manifest.http?.rateLimit, onContact, signal }),
    )
  }

  async #draw(plugin: InstalledPlugin, wanted: { url: string; userId: string; signal: AbortSignal }): Promise<DrawnPicture> {
    const { bytes } = await this.#fetch(plugin, wanted)
    const drawn = await this.#options.resizeImage({ bytes, width: LONGEST_SIDE, height: LONGEST_SIDE, format: 'webp' })
    if ('problem' in drawn)
      return refuse('invalid_value', `The picture at ${new URL(wanted.url).host} is damaged or too large to be decoded.`)
    const webp = new Uint8Array(drawn.bytes)
    return { webp, etag: createHash('sha256').update(webp).digest('base64url').slice(0, 22) }
  }
}
