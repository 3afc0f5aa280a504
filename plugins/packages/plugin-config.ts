import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { Check, Errors } from 'typebox/schema'
import { refuse } from '#core/foundation/errors.ts'
import { OneOf } from '#core/foundation/schema.ts'
import { describeFault, oneOf } from '#plugins/packages/manifest-fault.ts'
import { formOf, type Shape } from '#plugins/packages/manifest-form.ts'
import { shown } from '#plugins/packages/plain-json.ts'

/**
 * The part of JSON Schema 2020-12 that configurations may be described by: what a form can show, and what is checked in time that the value's size
 * bounds. So no patterns, no references, no alternatives, and no depth: a member is a value or a list of values.
 */
const PROPERTIES_MAX = 60
const TEXT_LENGTH_MAX = 10_000
const LIST_MAX = 200
/** What forms know of a member is a handful. */
const HINTS_MAX = 20
const KEY_LENGTH_MAX = 64
/** Characters of one as JSON: it goes along with every call, and nobody fills in more. */
export const CONFIG_LENGTH_MAX = 32 * 1024
const NAME = '^[A-Za-z][A-Za-z0-9_]{0,63}$'
/** What the pattern says, for people. */
const PATTERNS = { [NAME]: 'must be letters, digits and underscores, a letter first' }
const Words = (maxLength: number) => Type.String({ maxLength })
const Plain = Type.Union([Type.String({ maxLength: TEXT_LENGTH_MAX }), Type.Number(), Type.Boolean()])

const member = {
  type: OneOf(['string', 'number', 'integer', 'boolean']),
  title: Type.Optional(Words(100)),
  description: Type.Optional(Words(1_000)),
  enum: Type.Optional(Type.Array(Plain, { minItems: 1, maxItems: LIST_MAX })),
  minimum: Type.Optional(Type.Number()),
  maximum: Type.Optional(Type.Number()),
  minLength: Type.Optional(Type.Integer({ minimum: 0, maximum: TEXT_LENGTH_MAX })),
  maxLength: Type.Optional(Type.Integer({ minimum: 0, maximum: TEXT_LENGTH_MAX })),
  format: Type.Optional(OneOf(['uri', 'email', 'date'])),
  default: Type.Optional(Plain),
  'x-ui': Type.Optional(Type.Record(Type.String(), Plain, { maxProperties: HINTS_MAX })),
}
const Value = Type.Object(member, { additionalProperties: false })
const Member = Type.Union([
  Value,
  Type.Object(
    {
      ...member,
      type: Type.Literal('array'),
      items: Value,
      minItems: Type.Optional(Type.Integer({ minimum: 0, maximum: LIST_MAX })),
      maxItems: Type.Optional(Type.Integer({ minimum: 0, maximum: LIST_MAX })),
      uniqueItems: Type.Optional(Type.Boolean()),
      default: Type.Optional(Type.Array(Plain, { maxItems: LIST_MAX })),
    },
    { additionalProperties: false },
  ),
])
export const ConfigSchema = Type.Object(
  {
    $schema: Type.Optional(Words(200)),
    type: Type.Literal('object'),
    title: Type.Optional(Words(100)),
    description: Type.Optional(Words(1_000)),
    properties: Type.Record(Type.String({ pattern: NAME }), Member, {
      maxProperties: PROPERTIES_MAX,
      additionalProperties: false,
    }),
    required: Type.Optional(Type.Array(Words(KEY_LENGTH_MAX), { maxItems: PROPERTIES_MAX })),
    additionalProperties: Type.Optional(Type.Literal(false)),
  },
  { additionalProperties: false },
)
type ConfigSchema = Static<typeof ConfigSchema>
const isSchema = Compile(ConfigSchema)

/** What the schema of a configuration says wrong, with its place; null where it is one. */
export function configSchemaFault(schema: unknown): { path: string; message: string } | null {
  if (!isSchema.Check(schema)) {
    const [first] = isSchema.Errors(schema)
    return {
      path: first?.instancePath ?? '',
      message: `${first === undefined ? 'is none' : faultOf(schema, first)}; configurations are described by a part of JSON Schema only`,
    }
  }
  const stranger = (schema.required ?? []).find((name) => !Object.hasOwn(schema.properties, name))
  if (stranger !== undefined) {
    const names = Object.keys(schema.properties)
    const of = names.length === 0 ? 'and there are none' : oneOf(stranger, names)
    return { path: '/required', message: `it names ${shown(stranger)}, which is not among the properties; ${of}` }
  }
  for (const [name, one] of Object.entries(schema.properties))
    if (one.default !== undefined && !Check(checked(one), one.default))
      return { path: `/properties/${name}/default`, message: `it is not what the member takes; it must be ${formOf(one as Shape, {})}` }
  return null
}

/** A word that the schema of a member does not take stands at a place of its own, and nothing is said of it but that it is one too many. */
function faultOf(schema: unknown, fault: Parameters<typeof describeFault>[1]): string {
  if (fault.message !== 'schema is false') return describeFault(schema, fault, { schema: ConfigSchema as Shape, patterns: PATTERNS })
  const [, word = ''] = /\/([^/]*)$/.exec(fault.instancePath) ?? []
  const isOfMember = /^\/properties\/[^/]+\/[^/]+$/.test(fault.instancePath)
  return `there is no ${shown(word)} here; ${oneOf(word, isOfMember ? Object.keys(member) : Object.keys(ConfigSchema.properties))}`
}

/** What holds where a schema sets no bound of its own: the schema that a value of this member is checked by. */
export const checked = (member: ConfigSchema['properties'][string]): object => ({
  ...(member.type === 'string' && { maxLength: TEXT_LENGTH_MAX }),
  ...(member.type === 'array' && { maxItems: LIST_MAX }),
  ...member,
  ...(member.type === 'array' && { items: checked(member.items) }),
})

/**
 * A configuration as the plugin is given it: checked against the schema of its manifest, with the defaults filled in.
 * @param schema of the manifest; without one nothing can be set
 * @throws invalid_value with the path of what is wrong
 */
export function readConfig(schema: unknown, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = (schema as ConfigSchema | undefined)?.properties ?? {}
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `config${path}: ${message}.`, { details: [{ path: `/config${path}`, message }] })
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(properties, name))
  if (stranger !== undefined)
    wrong(`/${stranger.slice(0, 64)}`, `there is no such member; there are: ${Object.keys(properties).join(', ') || 'none'}`)
  const config: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties)) {
    const value = Object.hasOwn(given, name) ? given[name] : member.default
    if (value === undefined) {
      if ((schema as ConfigSchema).required?.includes(name)) wrong(`/${name}`, 'it is required')
      continue
    }
    const rule = checked(member)
    if (!Check(rule, value)) {
      const [, errors] = Errors(rule, value)
      wrong(`/${name}${errors[0]?.instancePath ?? ''}`, errors[0]?.message ?? 'it is not what the member takes')
    }
    config[name] = value
  }
  const { length } = JSON.stringify(config)
  if (length > CONFIG_LENGTH_MAX) wrong('', `it has ${length} characters as JSON; ${CONFIG_LENGTH_MAX} are allowed`)
  return config
}
