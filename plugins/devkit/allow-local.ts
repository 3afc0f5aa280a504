import { escapedLines } from '#core/foundation/stranger-text.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import {
  hostAndPort,
  isLocalHost,
  LOCAL_ADDRESS_ABOUT,
  type LocalServices,
  NO_LOCAL_SERVICES,
  readLocalAddress,
} from '#core/settings/local-hosts.ts'
import { type ToolInput, ToolProblem } from './command.ts'
import { typedTool } from './typed.ts'

export const ALLOW_LOCAL: DescribedFlag = {
  name: 'allow-local',
  value: 'host:port',
  repeatable: true,
  about:
    'A service on this machine or its network, such as localhost:8600, to which the plugin may send requests if its configuration names it (networkFromConfig). A server allows it with --plugin-allow-local.',
}

/** The hosts in the flag. @throws ToolProblem */
export function readAllowLocal({ all }: Pick<ToolInput, 'all'>): ReadonlySet<string> {
  return new Set(
    all(ALLOW_LOCAL.name).map((text) => {
      const place = readLocalAddress(text)
      if (place === null) throw new ToolProblem(`--allow-local is ${LOCAL_ADDRESS_ABOUT}; "${escapedLines(text)}" is none.`)
      return place
    }),
  )
}

/** How a refused request can be allowed in these commands: sentences with a leading space. Empty unless it goes to this machine or its network. */
export function allowLocalHint(url: URL, local: LocalServices = NO_LOCAL_SERVICES): string {
  if (!isLocalHost(url.hostname)) return ''
  const address = hostAndPort(url)
  return local.has(address)
    ? ` A member of config that permissions.networkFromConfig names must contain the address of ${address}.`
    : ` If it is a service of yours for development, add --${ALLOW_LOCAL.name} ${address}.`
}

/** The command that records these requests, such as `GET http://localhost:8600/`, with the flags that it needs for them. */
export function typedRecord(requests: readonly string[]): string {
  const urls = requests.map((request) => URL.parse(request.slice(request.indexOf(' ') + 1)))
  const places = urls.flatMap((url) => (url !== null && isLocalHost(url.hostname) ? [hostAndPort(url)] : []))
  return typedTool(['test --record', ...[...new Set(places)].map((place) => `--${ALLOW_LOCAL.name} ${place}`)].join(' '))
}

/** The message of a call whose requests match no fixture. */
export const describeUnmatched = (requests: readonly string[]): string =>
  `No fixture matches ${[...new Set(requests)].join(', ')}. Record it with: ${typedRecord(requests)}`

/** For fixtures, where no request leaves this process: allows every host that a server could allow. */
export const ALL_LOCAL_SERVICES: LocalServices = { has: () => true }
