import { setImmediate as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type Forms, formsOf, masking } from '#plugins/egress/masking.ts'
import type { Hop } from '#plugins/egress/request.ts'

/** What the server adds to requests for one host; plugins never see it. */
export interface Credential {
  host: string
  header: string
  value: string
  /** Where the host is one of the house: its scheme, host and port. Otherwise it is https at its own port. */
  origin?: string | undefined
}

/** Only what a plugin asked by itself of exactly that host, by that scheme and port; whatever follows a redirect from elsewhere goes without. */
export function isFor(credential: Credential, { url, strayed }: Hop): boolean {
  return !strayed && url.origin === (credential.origin ?? `https://${credential.host}`)
}

/** Of credentials that are in use: some hundred pieces each, thousands where a token is a signed statement of 10,000 characters, and a table of a megabyte. */
const FORMS_KEPT = 16
const kept = new LRUCache<string, Forms>({ max: FORMS_KEPT })

function keptForms(value: string): Forms {
  const known = kept.get(value)
  if (known) return known
  const forms = formsOf(value)
  kept.set(value, forms)
  return forms
}

/** A text of a service that may tell what it was sent, as pages for faults do: in the plugin's hands the credential would be the plugin's. */
export function withoutCredential(text: string, { value }: Credential): string {
  const work = masking(text, keptForms(value))
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/** The same for the largest of answers: between its parts it lets others have the thread. */
export async function bodyWithoutCredential(text: string, { value }: Credential): Promise<string> {
  const work = masking(text, keptForms(value))
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await pause()
  }
}
