import type { TSchema } from 'typebox'
import { WEB_PATTERN } from '#core/matching/provider-answers.ts'
import type { LocalServices } from '#core/settings/local-places.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { checkedAddress, type Granted, linkRules, requestRules } from '#plugins/host/plugin-rules.ts'
import { RESULT_SCHEMAS } from '#plugins/host/results.ts'

/** A picture is loaded as soon as it is seen, a link when somebody opens it. */
type AddressKind = 'picture' | 'link'

interface Shape {
  type?: string
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  required?: string[]
  pattern?: string
  'x-address'?: AddressKind
}

type MapAddress = (address: string, kind: AddressKind) => string | null

/**
 * The answer of a method with another text in place of each address. An address that becomes null is left out, with its entry of a list if that needs one.
 */
export function mapAddresses<Answer>(method: string, answer: Answer, map: MapAddress): Answer {
  const schema = (RESULT_SCHEMAS as Readonly<Record<string, TSchema>>)[method]
  return schema === undefined ? answer : (mapped(schema as Shape, answer, map) as Answer)
}

function mapped(schema: Shape, value: unknown, map: MapAddress): unknown {
  const shape = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  if (typeof value === 'string') return shape.pattern === WEB_PATTERN ? map(value, shape['x-address'] ?? 'link') : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const { items = {} } = shape
    return value.map((entry) => mapped(items, entry, map)).filter((entry) => !lacksAny(items, entry))
  }
  const { properties = {} } = shape
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapped(properties[name] ?? {}, member, map)]))
}

const lacksAny = ({ required = [] }: Shape, entry: unknown): boolean =>
  entry !== null && typeof entry === 'object' && required.some((name) => (entry as Record<string, unknown>)[name] === null)

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
    if (!named.has(host) && named.size < HOSTS_NAMED_MAX) onLeftOut(host, `A ${kind} was left out of the answer: ${problem}`)
    named.add(host)
    return null
  })
}
