import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { Check, Errors } from 'typebox/schema'
import { refuse } from '#core/foundation/errors.ts'
import { AnyNumber, NUMBER_MAX, OneOf } from '#core/foundation/schema.ts'
import { briefJson, briefText, readablePattern } from '#core/foundation/stranger-text.ts'
import { type Advice, unreadableAdvice } from '#plugins/packages/manifest-advice.ts'
import { formOf, type Shape } from '#plugins/packages/manifest-form.ts'
import { describeSchemaProblem, oneOf } from '#plugins/packages/schema-problem.ts'

/**
 * The subset of JSON Schema 2020-12 for configurations: what a form can show, and what can be checked in time linear in the size of the
 * value. So no patterns, references, alternatives or nesting: a member is a value or a list of values.
 */
const PROPERTIES_MAX = 60
const TEXT_LENGTH_MAX = 10_000
const LIST_MAX = 200
/** Forms use only a few hints for each member. */
const HINTS_MAX = 20
const KEY_LENGTH_MAX = 64
/** Characters as JSON: the configuration is sent with every call, and nobody enters more. */
export const CONFIG_LENGTH_MAX = 32 * 1024
const NAME = '^[A-Za-z][A-Za-z0-9_]{0,63}$'
/** Descriptions of the patterns for people. */
export const CONFIG_PATTERNS: Record<string, string> = { [NAME]: 'must be letters, digits and underscores, a letter first' }
/** For texts that their patterns refuse, by pattern. */
export const CONFIG_ADVICE: Record<string, Advice> = {}
/** People see these texts in the form, and its defaults before they consent. */
function Words(maxLength: number, form: { lines?: boolean } = {}) {
  const pattern = readablePattern(maxLength, form)
  CONFIG_PATTERNS[pattern] = `must be a text of at most ${maxLength} readable characters`
  CONFIG_ADVICE[pattern] = unreadableAdvice(maxLength, form)
  return Type.String({ pattern, maxLength })
}
const Plain = Type.Union([Words(TEXT_LENGTH_MAX, { lines: true }), AnyNumber(), Type.Boolean()])
/** Stands in a list of choices. */
const Choice = Type.Union([Words(TEXT_LENGTH_MAX), AnyNumber(), Type.Boolean()])
/** What people call a secret, in the languages of many plugins. */
const SECRET_NAMES =
  /passw|passphrase|passcode|secret|token|credential|api[ _-]?key|kennwort|mot de passe|contrase[nñ]a|senha|парол|密码|密碼|パスワード|비밀번호/i

const member = {
  type: OneOf(['string', 'number', 'integer', 'boolean']),
  title: Type.Optional(Words(100)),
  description: Type.Optional(Words(1_000, { lines: true })),
  enum: Type.Optional(Type.Array(Choice, { minItems: 1, maxItems: LIST_MAX })),
  minimum: Type.Optional(AnyNumber()),
  maximum: Type.Optional(AnyNumber()),
  minLength: Type.Optional(Type.Integer({ minimum: 0, maximum: TEXT_LENGTH_MAX })),
  maxLength: Type.Optional(Type.Integer({ minimum: 0, maximum: TEXT_LENGTH_MAX })),
  format: Type.Optional(OneOf(['uri', 'email', 'date', 'password'])),
  /** Of a password: the code of the plugin receives it. Otherwise it never does. */
  'x-receives-password': Type.Optional(Type.Boolean()),
  default: Type.Optional(Plain),
  'x-ui': Type.Optional(Type.Record(Type.String({ pattern: readablePattern(KEY_LENGTH_MAX) }), Plain, { maxProperties: HINTS_MAX })),
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
    description: Type.Optional(Words(1_000, { lines: true })),
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
type ConfigMember = ConfigSchema['properties'][string]
const isSchema = Compile(ConfigSchema)

/** The error in a configuration schema, with its place; null when it is valid. */
export function configSchemaProblem(schema: unknown): { path: string; message: string } | null {
  if (!isSchema.Check(schema)) {
    const [first] = isSchema.Errors(schema)
    return {
      path: first?.instancePath ?? '',
      message: first === undefined ? 'it is no schema of settings' : problemOf(schema, first),
    }
  }
  const unknownName = (schema.required ?? []).find((name) => !Object.hasOwn(schema.properties, name))
  if (unknownName !== undefined) {
    const names = Object.keys(schema.properties)
    const of = names.length === 0 ? 'and there are none' : oneOf(unknownName, names)
    return { path: '/required', message: `it names ${briefText(unknownName)}, which is not among the properties; ${of}` }
  }
  for (const [name, one] of Object.entries(schema.properties)) {
    const problem = secretProblem(name, one, schema.required ?? [])
    if (problem !== null) return { path: `/properties/${name}`, message: problem }
  }
  for (const [name, one] of Object.entries(schema.properties))
    if (one.default !== undefined && !Check(checked(one), one.default))
      return {
        path: `/properties/${name}/default`,
        message: `${briefJson(one.default)} is not a valid value of the member; it must be ${formOf(one as Shape, {})}`,
      }
  return null
}

/** What a member that is a secret, or says that it is one, must not be; null when all is well. */
function secretProblem(name: string, { type, format, title = '', ...member }: ConfigMember, required: readonly string[]): string | null {
  const items = 'items' in member ? member.items : undefined
  const isText = type === 'string' || items?.type === 'string'
  if (format !== 'password') {
    if (items?.format === 'password') return 'a list cannot be a password; make it one text'
    if (member['x-receives-password'] !== undefined) return 'x-receives-password is only for a text with format password'
    return isText && SECRET_NAMES.test(`${name} ${title}`)
      ? 'its name says that it is a secret; give it format password, then it is stored encrypted and never returned'
      : null
  }
  if (type !== 'string') return 'a password must be of type string'
  if (member.default !== undefined || member.enum !== undefined) return 'a password has no default and no enum, which everybody could read'
  return required.includes(name) ? 'a password cannot be required, because it is not stored with the settings' : null
}

/** The names of the members that are stored encrypted. @param isReceived only those that the code of the plugin receives */
export function secretsOf(schema: unknown, { isReceived = false } = {}): string[] {
  const { properties = {} } = (schema ?? {}) as Partial<ConfigSchema>
  return Object.keys(properties).filter(
    (name) => properties[name]?.format === 'password' && (!isReceived || properties[name]['x-receives-password'] === true),
  )
}

/** Without the members that are secret by now: an earlier version may have stored them as they are. */
export function withoutSecrets(schema: unknown, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = secretsOf(schema)
  return Object.fromEntries(Object.entries(config).filter(([name]) => !names.includes(name)))
}

/**
 * Settings as the code of a plugin receives them: with defaults, and of the secrets only those that the record says it receives.
 * @param secrets with their values; others are left out
 * @throws invalid_value
 */
export function receivedSettings(
  schema: unknown,
  config: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const received = secretsOf(schema, { isReceived: true }).flatMap((name) => (Object.hasOwn(secrets, name) ? [[name, secrets[name]]] : []))
  return readConfig(schema, { ...withoutSecrets(schema, config), ...Object.fromEntries(received) })
}

/** Splits settings as a user gives them. An empty secret, or null, deletes the stored one; one that is left out keeps it. */
export function splitSecrets(
  schema: unknown,
  given: Readonly<Record<string, unknown>>,
): { config: Record<string, unknown>; secrets: Record<string, string | null> } {
  const names = secretsOf(schema)
  const secrets = Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => names.includes(name))
      .map(([name, value]) => [name, value === '' ? null : value]),
  )
  const config = withoutSecrets(schema, given)
  readConfig(schema, { ...config, ...Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== null)) })
  return { config, secrets: secrets as Record<string, string | null> }
}

const SUBSET = 'settings support only a subset of JSON Schema'
const TYPES = ['string', 'number', 'integer', 'boolean', 'array']

/** An unknown keyword has its own error location, but the message says only that it is not allowed. */
function problemOf(schema: unknown, problem: Parameters<typeof describeSchemaProblem>[1]): string {
  const { type } = memberAt(schema, problem.instancePath)
  if (/^\/properties\/[^/]+\/type$/.test(problem.instancePath) && !TYPES.includes(String(type)))
    return `${briefJson(type)} is not allowed; ${oneOf(type, TYPES)}; ${SUBSET}`
  if (problem.message !== 'schema is false')
    return describeSchemaProblem(schema, problem, { schema: ConfigSchema as Shape, patterns: CONFIG_PATTERNS, advice: CONFIG_ADVICE })
  const [, word = ''] = /\/([^/]*)$/.exec(problem.instancePath) ?? []
  if (/^\/properties\/[^/]+$/.test(problem.instancePath)) return `${briefText(word)} is no name of a setting; it ${CONFIG_PATTERNS[NAME]}`
  const isOfMember = /^\/properties\/[^/]+\/[^/]+$/.test(problem.instancePath)
  return `${briefText(word)} is not allowed here; ${oneOf(word, isOfMember ? Object.keys(member) : Object.keys(ConfigSchema.properties))}; ${SUBSET}`
}

/** The member of the schema to which a place belongs. */
function memberAt(schema: unknown, place: string): Partial<Record<string, unknown>> {
  const { properties } = (schema ?? {}) as { properties?: Record<string, Record<string, unknown> | undefined> }
  return properties?.[place.split('/')[2] ?? ''] ?? {}
}

/** The schema that checks the value of a member, with default limits where it sets none. */
export const checked = (member: ConfigSchema['properties'][string]): object => ({
  ...(member.type === 'string' && { maxLength: TEXT_LENGTH_MAX }),
  ...((member.type === 'number' || member.type === 'integer') && { minimum: -NUMBER_MAX, maximum: NUMBER_MAX }),
  ...(member.type === 'array' && { maxItems: LIST_MAX }),
  ...member,
  ...(member.type === 'array' && { items: checked(member.items) }),
})

/**
 * The configuration for the plugin: checked against the schema in its manifest, with defaults filled in.
 * @param schema of the manifest; without one there are no settings
 * @throws invalid_value with the path of the wrong member
 */
export function readConfig(schema: unknown, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = (schema as ConfigSchema | undefined)?.properties ?? {}
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `config${path}: ${message}.`, { details: [{ path: `/config${path}`, message }] })
  const unknownName = Object.keys(given).find((name) => !Object.hasOwn(properties, name))
  if (unknownName !== undefined)
    wrong(
      `/${unknownName.slice(0, 64)}`,
      `it is no setting; ${Object.keys(properties).length === 0 ? 'known are: none' : oneOf(unknownName, Object.keys(properties))}`,
    )
  const config: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties)) {
    const value = Object.hasOwn(given, name) ? given[name] : member.default
    if (value === undefined) {
      if ((schema as ConfigSchema).required?.includes(name)) wrong(`/${name}`, 'it is required')
      continue
    }
    const rule = checked(member)
    if (!Check(rule, value)) {
      const [, [first]] = Errors(rule, value)
      const shape = rule as Shape
      // What was entered as a secret stays out of messages.
      const said = first && member.format !== 'password' && describeSchemaProblem(value, first, { schema: shape, patterns: {} })
      wrong(`/${name}${first?.instancePath ?? ''}`, said || `must be ${formOf(shape, {})}`)
    }
    config[name] = value
  }
  const { length } = JSON.stringify(config)
  if (length > CONFIG_LENGTH_MAX) wrong('', `it has ${length} characters as JSON; the limit is ${CONFIG_LENGTH_MAX}`)
  return config
}
