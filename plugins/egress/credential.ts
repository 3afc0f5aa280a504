import type { Hop } from '#plugins/egress/request.ts'

/** What the server adds to requests for one host; plugins never see it. */
export interface Credential {
  host: string
  header: string
  value: string
  /** Where the host is one of the house: its scheme, host and port. Otherwise it is https at its own port. */
  origin?: string | undefined
}

/** Shorter ones are words that stand in answers anyway. */
const SECRET_LENGTH_MIN = 8
const INSTEAD = '[credential]'

/** Only what a plugin asked by itself of exactly that host, by that scheme and port; whatever follows a redirect from elsewhere goes without. */
export function isFor(credential: Credential, { url, strayed }: Hop): boolean {
  return !strayed && url.origin === (credential.origin ?? `https://${credential.host}`)
}

/** A text of a service that may tell what it was sent, as pages for faults do: in the plugin's hands the credential would be the plugin's. */
export function withoutCredential(text: string, { value }: Credential): string {
  // A value is often a word such as Bearer and the secret behind it.
  const secrets = [value, value.slice(value.lastIndexOf(' ') + 1)].filter(({ length }) => length >= SECRET_LENGTH_MIN)
  return secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]).reduce((told, secret) => told.replaceAll(secret, INSTEAD), text)
}
