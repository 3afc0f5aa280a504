import { refuse } from '#core/foundation/errors.ts'
import { NO_LOCAL_SERVICES } from '#core/settings/local-places.ts'
import type { Downloads, Egress } from '#plugins/network/egress.ts'
import { isAllowedLocal, localRule } from '#plugins/network/rules.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/**
 * Fetches a file of a repository from the public internet.
 * @throws invalid_value where it must not be fetched from, unavailable where it cannot be
 */
export type Download = (
  url: URL,
  options: {
    /** More is not taken, packed or unpacked. */
    bytesMax: number
    /** Whether redirects may lead to other hosts: only where it is known what the file must be. */
    toOtherHosts: boolean
    /** Whether it lies where the repository itself does: at a place that is let through for development, where that is one. */
    isAtHome: boolean
    signal: AbortSignal
  },
) => Promise<Buffer>

/**
 * Of one file. An index has some hundred KB as a rule, and is not waited for longer than other texts; 10 MB may come over a slow line, but whoever
 * asked for them waits, and connections on which nothing happens are closed after two minutes.
 */
const DEADLINES_MS = { index: 15_000, package: 90_000 }

/** @param options.userAgent tells publishers who asks */
export function openDownload(
  egress: Egress & Downloads,
  { userAgent, deadlinesMs = DEADLINES_MS }: { userAgent: string; deadlinesMs?: { index: number; package: number } },
): Download {
  const { local = NO_LOCAL_SERVICES } = egress

  async function fetchOnHost(url: URL, signal: AbortSignal): Promise<{ status: number; bytes: Buffer }> {
    const rule = isAllowedLocal(url, local) ? localRule(url, ['GET']) : { host: url.hostname, methods: ['GET'] }
    const policy = { caller: callerOf(url), rules: [rule], userAgent }
    const { status, body } = await egress.fetch({ url: url.href, timeoutMs: deadlinesMs.index }, policy, signal)
    // The same bytes, for it is UTF-8; where it is not, the signature over them does not hold.
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
      if (status !== 200) refuse('unavailable', `${url.href} answers ${status}.`)
      if (bytes.length > bytesMax) refuse('unavailable', `${url.href} has more than ${bytesMax} bytes.`)
      return bytes
    } catch (error) {
      if (!(error instanceof GuestError)) throw error
      if (error.own !== 'permission') return refuse('unavailable', `${url.href} could not be fetched. ${error.message}`, { cause: error })
      const places = 'where no file of a repository is fetched from: an address that is not public, or what is not https'
      return refuse('invalid_value', `${url.href} leads to ${toOtherHosts ? places : `another host by a redirect, or ${places}`}.`, {
        cause: error,
      })
    }
  }
}

/** Repositories take their turns beside each other. */
const callerOf = ({ host }: URL) => `repository ${host}`
