import type { DownloadCover } from '#core/matching/provider-client.ts'
import type { Downloads } from '#plugins/network/egress.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** A scan of a page that nobody has made smaller; covers that services offer have a twentieth. */
const COVER_BYTES_MAX = 10 * 1024 * 1024
/** Longer than a plugin may take for a text: it is larger, and nobody waits for it. */
const DEADLINE_MS = 30_000
const ACCEPT = 'image/avif, image/webp, image/png, image/jpeg, image/gif'

/**
 * - `invalid_address`: it is none
 * - `permission`: it is not https, names a port or a number in place of a host, or leads, perhaps by redirects, to what is not public
 * - `not_found`: the service says that there is nothing
 * - `upstream`: the service cannot be reached, or answers something else than what was asked for
 * - `not_a_picture`: what it answers is no JPEG, PNG, WebP, GIF or AVIF
 * - `too_large`, `timeout`, `rate_limited`
 * - `closed`: the signal said so
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

/** `message` may be shown to administrators: it names the host and what is wrong, and no address that it leads to. */
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

/**
 * Gets the picture of a cover that a plugin has named in a result. Any public host may be asked, not only those that the plugin may talk to: services
 * keep their pictures at hosts of others, whose names change; the plugin learns nothing of what comes back, and can send no more than the address, which
 * it could as well show to a reader. So no credentials are sent either.
 * @param caller plugin that named it
 * @throws CoverError
 */
export async function downloadCover(
  downloads: Downloads,
  { url, caller, signal }: { url: string; caller: string; signal: AbortSignal },
): Promise<{ bytes: Buffer; contentType: string }> {
  const userAgent = `Carrel (covers for the plugin ${caller})`
  const answer = await downloads
    .download({ url, caller, userAgent, accept: ACCEPT, bytesMax: COVER_BYTES_MAX, deadlineMs: DEADLINE_MS }, signal)
    .catch((error: unknown) => {
      if (error instanceof GuestError) throw new CoverError(CODES[error.own ?? ''] ?? 'upstream', error.message)
      throw error
    })
  const { host } = new URL(answer.url)
  if (answer.status === 404 || answer.status === 410) throw new CoverError('not_found', `${host} has no such picture.`)
  if (answer.status !== 200) throw new CoverError('upstream', `${host} answered ${answer.status} and no picture.`)
  const contentType = pictureTypeOf(answer.bytes)
  if (contentType === null)
    throw new CoverError('not_a_picture', `What ${host} answers is no picture that is taken: JPEG, PNG, WebP, GIF and AVIF are.`)
  return { bytes: answer.bytes, contentType }
}

/** The same for callers that take failures as values. */
export const openCoverDownload =
  (downloads: Downloads): DownloadCover =>
  (cover) =>
    downloadCover(downloads, cover).catch((error: unknown) => {
      if (error instanceof CoverError) return { failure: { code: error.code, message: error.message } }
      throw error
    })

/** By its first bytes and by nothing that anybody says of it; SVG is a program and not among them. */
export function pictureTypeOf(bytes: Buffer): string | null {
  const has = (at: number, text: string) => bytes.toString('latin1', at, at + text.length) === text
  if (has(0, '\xff\xd8\xff')) return 'image/jpeg'
  if (has(0, '\x89PNG\r\n\x1a\n')) return 'image/png'
  if (has(0, 'GIF87a') || has(0, 'GIF89a')) return 'image/gif'
  if (has(0, 'RIFF') && has(8, 'WEBP')) return 'image/webp'
  if (has(4, 'ftyp') && brandsOf(bytes).some((brand) => brand === 'avif' || brand === 'avis')) return 'image/avif'
  return null
}

/** Of a file in boxes: the first tells the kinds that it is, the first of them above all, then its version and the others. */
function brandsOf(bytes: Buffer): string[] {
  // A box is as long as it says; one that says more than a few kinds is none of a picture.
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256)
  const brands: string[] = []
  for (let at = 8; at + 4 <= end; at += 4) if (at !== 12) brands.push(bytes.toString('latin1', at, at + 4))
  return brands
}
