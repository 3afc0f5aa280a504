import { credentialText } from '#plugins/credentials/plugin-auth.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { AuthStatus } from '../../plugin-sdk/index.ts'
import { type GivenCredentials, requiresCredentials } from './credentials-file.ts'

/** What the calls of a session have of credentials. */
export interface GivenSignIn {
  /** Default, when the manifest requires credentials: `connected` with them, and `missing` without. Else `none`. */
  auth?: AuthStatus | undefined
  credentials?: GivenCredentials | undefined
  /** How to enter them: a sentence for errors of services to which requests went without them. */
  credentialsHint?: string | undefined
}

/** Whether the credentials are those of users, which a server does not have in calls for nobody. */
const isSignedOut = (manifest: Manifest, userId: string | null): boolean =>
  requiresCredentials(manifest) && manifest.auth?.scope === 'user' && userId === null

/** The state that a server would report in a call, and the credentials that are added to its requests. */
export function signInFor(
  manifest: Manifest,
  { auth, credentials }: GivenSignIn,
  userId: string | null,
): { auth: AuthStatus; credentials: GivenCredentials | undefined } {
  if (isSignedOut(manifest, userId)) return { auth: 'missing', credentials: undefined }
  const whole = credentials !== undefined && credentialText(manifest.auth, credentials) !== undefined ? credentials : undefined
  const own = whole === undefined ? 'missing' : 'connected'
  return { auth: auth ?? (requiresCredentials(manifest) ? own : 'none'), credentials: whole }
}

/** How the credentials can be entered that requests of a call lack: a sentence, or null when they lack none. */
export function howToSignIn(manifest: Manifest, given: GivenSignIn, userId: string | null): string | null {
  if (given.credentialsHint === undefined || !requiresCredentials(manifest)) return null
  if (signInFor(manifest, given, userId).credentials !== undefined) return null
  return isSignedOut(manifest, userId) ? 'They are those of users, and only recommendations run for a user.' : given.credentialsHint
}
