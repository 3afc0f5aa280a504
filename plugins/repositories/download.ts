import { refuse } from '#core/foundation/errors.ts'
import { NO_LOCAL_SERVICES } from '#core/settings/local-hosts.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import { isAllowedLocal, localHint, localRule } from '#plugins/network/rules.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/**
 * Downloads a file of a repository from the public internet.
 * @throws invalid_value when the host is not allowed, service_failed when it does not answer as expected, unavailable when this server stops
 */
export type Download = (
  url: URL,
  options: {
    /** Limit, for the compressed and the decompressed size. */
    bytesMax: number
    /** Whether redirects to other hosts are allowed: only for files with a known hash. */
    toOtherHosts: boolean
    /** Whether it has the origin of the repository, which may be a local host that is allowed for development. */
    isAtHome: boolean
    signal: AbortSignal
  },
) => Promise<Buffer>

/**
 * Deadline for one file. A typical index has some hundred KB and gets the time of other texts; a package of 10 MB may come over a slow line, but a
 * person waits for it, and idle connections are closed after two minutes.
 */
const DEADLINES_MS = { index: 15_000, package: 90_000 }

/** Failures that say nothing about the repository: this server stops, or has asked the host too often. */
const OWN_LIMITS: readonly string[] = ['closed', 'rate_limited']

/** @param options.userAgent identifies this server to publishers */
export function downloadThrough(
  egress: Pick<HttpsEgress, 'local' | 'fetch' | 'download'>,
  { userAgent, deadlinesMs = DEADLINES_MS }: { userAgent: string; deadlinesMs?: { index: number; package: number } },
): Download {
  const { local = NO_LOCAL_SERVICES } = egress

  async function fetchOnHost(url: URL, signal: AbortSignal): Promise<{ status: number; bytes: Buffer }> {
    const rule = isAllowedLocal(url, local) ? localRule(url, ['GET']) : { host: url.hostname, methods: ['GET'] }
    const policy = { caller: callerOf(url), rules: [rule], userAgent }
    const { status, body } = await egress.fetch({ url: url.href, timeoutMs: deadlinesMs.index }, policy, signal)
    // The same bytes if they are UTF-8; otherwise their signature is invalid.
    return { status, bytes: Buffer.from(body) }
  }

  const fetchAnywhere = (url: URL, bytesMax: number, mayBeLocal: boolean, signal: AbortSignal) =>
    egress.download(
      { url: url.href, caller: callerOf(url), userAgent, accept: '*/*', bytesMax, deadlineMs: deadlinesMs.package, mayBeLocal },
      signal,
    )

  return async (url, { bytesMax, toOtherHosts, isAtHome, signal }) => {
    try {
      const { status, bytes } = toOtherHosts ? await fetchAnywhere(url, bytesMax, isAtHome, signal) : await fetchOnHost(url, signal)
      if (status !== 200) refuse('service_failed', `${url.href} answers ${status}.`)
      if (bytes.length > bytesMax) refuse('service_failed', `${url.href} exceeds ${bytesMax} bytes.`)
      return bytes
    } catch (error) {
      if (!(error instanceof GuestError)) throw error
      if (error.own !== 'permission')
        return refuse(
          OWN_LIMITS.includes(error.own ?? '') ? 'unavailable' : 'service_failed',
          `${url.href} could not be downloaded. ${error.message}`,
          {
            cause: error,
          },
        )
      const hint = isAllowedLocal(url, local) ? '' : localHint(url, local)
      if (hint !== '') return refuse('invalid_value', `${url.origin} is not at a public host.${hint}`, { cause: error })
      const places = 'a host that is not allowed for repositories: one that is not public, or not https'
      return refuse('invalid_value', `${url.href} leads to ${toOtherHosts ? places : `another host by a redirect, or to ${places}`}.`, {
        cause: error,
      })
    }
  }
}

/** Repositories share the rate limits with plugins. */
const callerOf = ({ host }: URL) => `repository ${host}`
