import { briefText } from '#core/foundation/stranger-text.ts'

/** Addresses of pages for signing in are long, and their end says nothing. */
const ADDRESS_LENGTH_MAX = 200

/**
 * What a person reads when the server that they named redirects. No command follows it: each sends a key, which is for that server alone.
 * @param location the header of the answer
 */
export function redirectProblem(asked: URL, location: string | null): string {
  const target = location === null ? null : URL.parse(location, asked.href)
  if (target === null) return `${asked.origin} redirects without an address, so it is no Carrel server. Check the address.`
  // The same place on another host, or with https.
  if (target.origin !== asked.origin && target.pathname === asked.pathname)
    return `${asked.origin} redirects to ${briefText(target.origin)}; give that address.`
  return `${asked.origin} redirects to ${briefText(target.href, ADDRESS_LENGTH_MAX)}, as no Carrel server does. Give the address of the Carrel server itself.`
}
