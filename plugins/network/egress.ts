import type https from 'node:https'
import type { LocalServices } from '#core/settings/local-hosts.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Credential } from '#plugins/network/credential.ts'
import type { HostRates } from '#plugins/network/host-rate-limiter.ts'
import type { EgressRule } from '#plugins/network/request.ts'

export interface EgressPolicy {
  /** The plugin: plugins share the rate limits of hosts fairly. */
  caller: string
  rules: readonly EgressRule[]
  /** Sent to every service, so that its operators know whom to contact. */
  userAgent: string
  /** Added to requests for this one host. */
  credential?: Credential | undefined
  /** The rates that services allow according to the plugin; they bind this plugin only, beside the limit of each host for all plugins. */
  rates?: HostRates | undefined
  /** How long to cache responses to GET; by default not at all, and only with a `cacheScope`. */
  cacheSeconds?: number | undefined
  /** Whether a request is sent once more when the service asks to wait; default true. */
  isRepeated?: boolean | undefined
  /** Who shares cached responses: the plugin, or one of its users when the user's credentials or settings matter. */
  cacheScope?: string | undefined
  /** Receives each host that is contacted or refused on the way, redirects included. */
  onContact?: OnContact | undefined
}

/** @param outcome the status of the response, or the error code */
export type OnContact = (host: string, outcome: number | string, bytes: number) => void

/** The connection to the network; replaced in tests. */
export interface EgressNetwork {
  /** All addresses of a host, none when it does not exist. Stops when the signal aborts. */
  resolve(host: string, signal: AbortSignal): Promise<string[]>
  /** Whether an address is allowed, for everybody or (`isPrivate`) because an administrator has granted that host explicitly. */
  permits(address: string, isPrivate: boolean): boolean
  request: typeof https.request
  /** Of hosts on the public internet. */
  port: number
}

export interface Egress {
  /** Hosts on this machine or its network that rules may allow; by default none. */
  readonly local?: LocalServices
  /** @throws GuestError whose `own` is permission, invalid_argument, rate_limited, timeout, too_large, upstream or closed */
  fetch(given: unknown, policy: EgressPolicy, signal: AbortSignal): Promise<EgressResponse>
}
