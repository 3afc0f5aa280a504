import type { TSchema } from 'typebox'
import type { LocalServices } from '#core/settings/local-hosts.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { checkedAddress, type Granted, linkRules, requestRules } from '#plugins/host/plugin-rules.ts'
import { type AnswerShape, isAddress, mapAnswer, RESULT_SCHEMAS } from '#plugins/host/results.ts'
import { covers } from '#plugins/packages/permissions.ts'

type AddressKind = 'picture' | 'link'

type MapAddress = (address: string, kind: AddressKind) => string | null

/**
 * The answer of a method with another text in place of each address. An address that becomes null is left out, with its entry of a list if that needs one.
 */
export function mapAddresses<Answer>(method: string, answer: Answer, map: MapAddress): Answer {
  const schema = (RESULT_SCHEMAS as Readonly<Record<string, TSchema>>)[method]
  if (schema === undefined) return answer
  return mapAnswer(schema as AnswerShape, answer, (shape, value) =>
    typeof value === 'string' && isAddress(shape) ? map(value, shape['x-address'] ?? 'link') : value,
  ) as Answer
}

/** Hosts of which one call is told that their addresses were left out; a plugin chooses how many there are. */
const HOSTS_NAMED_MAX = 20

/**
 * The answer without the addresses to which the plugin has no right, each of which would lead somebody to a host that nobody has agreed to.
 * @param onLeftOut receives each such host, and why its addresses were left out
 */
export function withinGrants<Answer>(
  plugin: Granted & Pick<InstalledPlugin, 'manifest'>,
  local: LocalServices | undefined,
  { method, answer, onLeftOut }: { method: string; answer: Answer; onLeftOut: (host: string, what: string) => void },
): Answer {
  const rules = { picture: requestRules(plugin, local), link: linkRules(plugin, local) }
  const named = new Set<string>()
  return mapAddresses(method, answer, (address, kind) => {
    const checked = checkedAddress(address, rules[kind])
    if ('href' in checked) return checked.href
    const { host, problem } = checked
    const isUnnamed = kind === 'link' && host !== '' && !rules.link.some((rule) => covers(rule.host, host))
    const advice = isUnnamed ? ` For links, capabilities.webLinks.hosts may name it instead.` : ''
    if (!named.has(host) && named.size < HOSTS_NAMED_MAX) onLeftOut(host, `A ${kind} was left out of the answer: ${problem}${advice}`)
    named.add(host)
    return null
  })
}
