import type { OnContact } from '#plugins/network/egress.ts'
import type { HostRates } from '#plugins/network/host-rate-limiter.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import type { EgressRule } from '#plugins/network/request.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** An unreduced scan of a page; covers of services have a twentieth. */
const COVER_BYTES_MAX = 10 * 1024 * 1024
/** A picture of ten megabytes arrives within it, and a hundred covers of one host at its five requests a second nearly do. */
const DEADLINE_MS = 15_000
const ACCEPT = 'image/avif, image/webp, image/png, image/jpeg, image/gif'

/**
 * - `invalid_address`: not a valid URL
 * - `permission`: leads, perhaps by redirects, to an address that the plugin may not contact
 * - `not_found`: the service has no such picture
 * - `upstream`: the service is unreachable or sends an unexpected response
 * - `not_a_picture`: the response is not a JPEG, PNG, WebP, GIF or AVIF
 * - `too_large`, `timeout`, `rate_limited`
 * - `closed`: the signal aborted
 */
export type CoverErrorCode =
  | 'invalid_address'
  | 'permission'
  | 'not_found'
  | 'upstream'
  | 'not_a_picture'
  | 'too_large'
  | 'timeout'
  | 'rate_limited'
  | 'closed'

/** Administrators may see `message`: it names the host and the problem, but not the address behind the host. */
export class CoverError extends Error {
  readonly code: CoverErrorCode

  constructor(code: CoverErrorCode, message: string) {
    super(message)
    this.name = 'CoverError'
    this.code = code
  }
}

const CODES: Record<string, CoverErrorCode> = {
  invalid_argument: 'invalid_address',
  permission: 'permission',
  too_large: 'too_large',
  timeout: 'timeout',
  rate_limited: 'rate_limited',
  closed: 'closed',
}

interface WantedCover {
  url: string
  /** The plugin. */
  caller: string
  /** Of the plugin: no name is resolved for another host, not even after a redirect. */
  rules: readonly EgressRule[]
  rates?: HostRates | undefined
  onContact: OnContact
  signal: AbortSignal
}

/**
 * Downloads a cover that a plugin has named in a result, from a host that the plugin may contact. The plugin does not see the response. No
 * credentials are sent.
 * @throws CoverError
 */
export async function downloadCover(
  downloads: Pick<HttpsEgress, 'download'>,
  { url, caller, rules, rates, onContact, signal }: WantedCover,
): Promise<{ bytes: Buffer; contentType: string }> {
  const userAgent = `Carrel (covers for the plugin ${caller})`
  const answer = await downloads
    .download(
      { url, caller, rules, rates, onContact, userAgent, accept: ACCEPT, bytesMax: COVER_BYTES_MAX, deadlineMs: DEADLINE_MS },
      signal,
    )
    .catch((error: unknown) => {
      if (error instanceof GuestError) throw new CoverError(CODES[error.own ?? ''] ?? 'upstream', error.message)
      throw error
    })
  const { host } = new URL(answer.url)
  if (answer.status === 404 || answer.status === 410) throw new CoverError('not_found', `${host} has no such picture.`)
  if (answer.status !== 200) throw new CoverError('upstream', `${host} returned status ${answer.status} instead of a picture.`)
  const contentType = coverTypeOf(answer.bytes)
  if (contentType === null)
    throw new CoverError('not_a_picture', `The response of ${host} is not a supported picture (JPEG, PNG, WebP, GIF or AVIF).`)
  return { bytes: answer.bytes, contentType }
}

/** The type by the first bytes, regardless of headers; never SVG, which can contain scripts. */
export function coverTypeOf(bytes: Buffer): string | null {
  const has = (at: number, text: string) => bytes.toString('latin1', at, at + text.length) === text
  if (has(0, '\xff\xd8\xff')) return 'image/jpeg'
  if (has(0, '\x89PNG\r\n\x1a\n')) return 'image/png'
  if (has(0, 'GIF87a') || has(0, 'GIF89a')) return 'image/gif'
  if (has(0, 'RIFF') && has(8, 'WEBP')) return 'image/webp'
  if (has(4, 'ftyp') && brandsOf(bytes).some((brand) => brand === 'avif' || brand === 'avis')) return 'image/avif'
  return null
}

/** The brands of a file of boxes: the first box lists the major brand, its version, and the others. */
function brandsOf(bytes: Buffer): string[] {
  // The box has a length; a picture has only a few brands, so a longer box is not one.
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256)
  const brands: string[] = []
  for (let at = 8; at + 4 <= end; at += 4) if (at !== 12) brands.push(bytes.toString('latin1', at, at + 4))
  return brands
}
