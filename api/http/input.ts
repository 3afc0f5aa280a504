import type { IncomingMessage } from 'node:http'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { BODY_BYTES_MAX, readBytesBody, readJsonBody, refuseBadText } from '#api/http/body.ts'
import type { Route } from '#api/http/endpoint.ts'
import { excessOf } from '#api/http/excess.ts'
import { readParameters } from '#api/http/query.ts'
import { trimTexts } from '#api/http/trim.ts'
import { readUpload, type Upload } from '#api/http/upload.ts'
import { refuse } from '#core/foundation/errors.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { cutText } from '#core/foundation/text.ts'

/** A wrong request has one or two faults; a hostile one may have a million. */
const DETAILS_MAX = 20
/** As much of a name that is not known is repeated. */
const QUOTED_LENGTH_MAX = 60

/** A broken rule leaves the value well-formed (422); everything else about a body is a wrong shape (400). */
const RULES = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'enum',
  'const',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'contains',
  'not',
])

/** What routes that take no file are given. */
const NO_UPLOAD: Upload = { fileName: '', bytes: Buffer.alloc(0) }

/** Of a text that is no point in time. */
const NO_TIME = 'must be a time such as 2026-01-02T10:00:00Z, of the years 1 to 9999'

interface Fault {
  /** JSON pointer to the member. */
  path: string
  message: string
}

/** Reads and checks what a request brings, ready for the route's `run`. */
export type ReadInput = (request: IncomingMessage, params: Record<string, string>, rawQuery: string) => Promise<Input>

interface Input {
  params: unknown
  query: unknown
  body: unknown
  upload: Upload
}

export interface InputOptions {
  bodyDeadlineMs: number
  /** Told of query parameters that no route names; without it they are refused. */
  onUnknownQuery: ((names: readonly string[]) => void) | null
  /** Page 0 of a list that begins with 1 is its page 1, for clients that count so. */
  takesPageZero?: boolean
}

/** Compiles the schemas of a route once. */
export function compileInput(route: Route<never>, options: InputOptions): ReadInput {
  const params = route.params ? compileParameters(route.params, 'path') : null
  const query = compileQuery(route, options)
  const spelled = route.mount?.dialect.readQuery ?? ((given: URLSearchParams) => given)
  const bodySchema: TSchema | undefined = route.kind === 'endpoint' ? route.body : undefined
  const endpoint = route.kind === 'endpoint' ? route : null
  const body = bodySchema ? compileBody(bodySchema, endpoint?.bodyOptional === true, endpoint?.bodyAliases) : null
  const bytesMax = (route.kind === 'endpoint' ? route.bodyBytesMax : undefined) ?? BODY_BYTES_MAX

  const file = route.kind === 'endpoint' ? route.upload : undefined
  const { bodyDeadlineMs: deadlineMs } = options
  const exact = new Set(exactMembers(bodySchema ?? {}))
  const asSent = new Map(membersAsSent(bodySchema ?? {}))

  return async (request, pathParams, rawQuery) => ({
    params: params?.(new URLSearchParams(pathParams)),
    query: query(spelled(new URLSearchParams(rawQuery))),
    body: body?.(await readJsonBody(request, { bytesMax, deadlineMs, exact, asSent })),
    upload: file
      ? await readUpload(request.headers['content-type'], await readBytesBody(request, { bytesMax, deadlineMs }), file.otherwise)
      : NO_UPLOAD,
  })
}

/** A misspelled parameter that is left out would answer another question than the one that was asked. */
function compileQuery(
  route: Route<never>,
  { onUnknownQuery: onUnknown, takesPageZero = false }: Pick<InputOptions, 'onUnknownQuery' | 'takesPageZero'>,
): (given: URLSearchParams) => unknown {
  const check = route.query ? compileParameters(route.query, 'query') : () => undefined
  const { page } = ((route.query as { properties?: Record<string, { minimum?: number }> } | undefined)?.properties ?? {}) as {
    page?: { minimum?: number }
  }
  const read = takesPageZero && page?.minimum === 1 ? (given: URLSearchParams) => check(withoutPageZero(given)) : check
  if (route.takesAnyQuery || !route.path.startsWith('/api/v1/')) return read
  const known = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {})
  return (given) => {
    const unknown = [...new Set(given.keys())].filter((name) => !known.includes(name))
    const [first] = unknown
    if (first === undefined) return read(given)
    if (onUnknown === null)
      refuse('invalid_request', unknownParameter(first, known), { details: unknown.slice(0, DETAILS_MAX).map(faultOf) })
    onUnknown(unknown)
    return read(given)
  }
}

function withoutPageZero(given: URLSearchParams): URLSearchParams {
  if (given.getAll('page').join() !== '0') return given
  const first = new URLSearchParams(given)
  first.set('page', '1')
  return first
}

const faultOf = (name: string): Fault => ({ path: `/${shortened(name)}`, message: 'is not known here' })
const shortened = (name: string) => cutText(name, QUOTED_LENGTH_MAX)

function unknownParameter(name: string, known: readonly string[]): string {
  const all = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`
  return `The query parameter ${shortened(name)} is not known here.${didYouMean(name, known)} ${all}`
}

function compileParameters(schema: TSchema, place: 'path' | 'query'): (given: URLSearchParams) => unknown {
  const validator = Compile(schema)
  return (given) => {
    for (const [name, value] of given) {
      refuseBadText(name, `/${place}`)
      refuseBadText(value, `/${place}/${name}`)
    }
    const value = readParameters(schema, given, place)
    if (validator.Check(value)) return value
    const faults = findFaults(validator.Errors(value))
    const [first] = faults
    refuse('invalid_request', `The ${place} parameter ${first?.path.slice(1)} ${first?.message}.`, { details: faults })
  }
}

function compileBody(schema: TSchema, isOptional: boolean, aliases?: Readonly<Record<string, string>>): (value: unknown) => unknown {
  const closed = closeObjects(schema)
  const validator = Compile(closed)
  return (given) => {
    const value = given === undefined && isOptional ? {} : aliases ? withOwnNames(given, aliases) : given
    if (value === undefined) refuse('invalid_request', 'This request needs a JSON body; send it with Content-Type: application/json.')
    const excess = excessOf(closed, value)
    if (excess !== null) refuseFaults(excess.code, [{ path: excess.path, message: excess.message }])
    trimTexts(closed, value)
    if (validator.Check(value)) return value
    const errors = validator.Errors(value)
    refuseFaults(isRule(errors) ? 'invalid_value' : 'invalid_request', findFaults(errors))
  }
}

/** A body whose members have the names of the schema. */
function withOwnNames(given: unknown, aliases: Readonly<Record<string, string>>): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const members = Object.entries(given).flatMap(([name, member]) => {
    const own = Object.hasOwn(aliases, name) ? (aliases[name] as string) : name
    return own !== name && Object.hasOwn(given, own) ? [] : [[own, member]]
  })
  return Object.fromEntries(members)
}

function refuseFaults(code: 'invalid_value' | 'invalid_request', faults: readonly Fault[]): never {
  const [first] = faults
  const subject = first?.path ? `The member ${first.path.slice(1)}` : 'The body'
  refuse(code, `${subject} ${first?.message}.`, { details: faults })
}

/** Members of a body whose texts reach the route as they were sent. */
function exactMembers({ anyOf = [], properties = {} }: ExactShape): string[] {
  const own = Object.keys(properties).filter((name) => isExact(properties[name]))
  return [...own, ...anyOf.flatMap(exactMembers)]
}

/** Members of a body whose JSON reaches the route as it was sent, with the most characters that it may have. */
function membersAsSent({ anyOf = [], properties = {} }: ExactShape): [name: string, lengthMax: number][] {
  const own = Object.entries(properties).flatMap(([name, member]): [string, number][] => {
    const marked = [member, ...(member.anyOf ?? [])].find((branch) => branch['x-as-sent'] !== undefined)
    return marked ? [[name, marked['x-as-sent'] as number]] : []
  })
  return [...own, ...anyOf.flatMap(membersAsSent)]
}

interface ExactShape {
  'x-exact'?: boolean
  'x-as-sent'?: number
  anyOf?: ExactShape[]
  properties?: Record<string, ExactShape>
}

/** A secret, or one that may be null. */
const isExact = (schema: ExactShape | undefined): boolean => schema?.['x-exact'] === true || (schema?.anyOf ?? []).some(isExact)

type SchemaError = ReturnType<ReturnType<typeof Compile>['Errors']>[number]

/** The faults worth telling: of a choice, those of the branch that was meant. */
function findFaults(errors: readonly SchemaError[]): Fault[] {
  const faults = new Map<string, Fault>()
  for (const error of meant(errors)) {
    for (const fault of readFault(error)) {
      const key = `${fault.path} ${fault.message}`
      if (faults.size < DETAILS_MAX) faults.set(key, fault)
    }
  }
  return [...faults.values()]
}

function isRule(errors: readonly SchemaError[]): boolean {
  return meant(errors).every(({ keyword }) => RULES.has(keyword))
}

/**
 * Leaves out what only says that some branch of a choice did not fit, when another branch fitted better: a value of the right
 * type that breaks a rule, or an object with a wrong member, was meant for that branch.
 */
function meant(errors: readonly SchemaError[]): SchemaError[] {
  const typeFault = new Set<string>()
  for (const error of errors) if (error.keyword === 'type') typeFault.add(`${error.schemaPath} ${error.instancePath}`)
  // A branch that already failed by type says nothing more about the same value: "must be >= 1" of a text is noise.
  const telling = errors.filter(
    (error) => error.keyword === 'type' || (error.keyword !== 'boolean' && !typeFault.has(`${error.schemaPath} ${error.instancePath}`)),
  )
  const choices = telling.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  let kept = telling.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'oneOf')
  for (const choice of choices) {
    const inside = kept.filter((error) => error.schemaPath.startsWith(`${choice.schemaPath}/`))
    const fitting = inside.filter((error) => !(error.keyword === 'type' && error.instancePath === choice.instancePath))
    if (fitting.length > 0) kept = kept.filter((error) => !inside.includes(error) || fitting.includes(error))
  }
  return kept.length > 0 ? kept : [...errors]
}

function readFault(error: SchemaError): Fault[] {
  const { instancePath: path } = error
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: `${path}/${name}`, message: 'is missing' }))
    case 'additionalProperties':
      return error.params.additionalProperties.map((name) => ({ path: `${path}/${name}`, message: 'is not known here' }))
    case 'enum':
      return [{ path, message: `must be one of ${error.params.allowedValues.join(', ')}` }]
    case 'pattern':
      return [{ path, message: 'has characters or a form that are not allowed here' }]
    case 'format':
      return [{ path, message: error.params.format === 'date-time' ? NO_TIME : error.message }]
    default:
      return [{ path, message: error.message }]
  }
}

/** Objects without a word on further members take none: a misspelt member is an error, not silence. */
export function closeObjects<T extends TSchema>(schema: T): T {
  return closeAny(schema, false) as T
}

function closeAny(value: unknown, composed: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => closeAny(item, composed))
  if (typeof value !== 'object' || value === null) return value
  // The members of an intersection see each other's properties as unknown, so they stay open.
  const copy = Object.create(Object.getPrototypeOf(value), Object.getOwnPropertyDescriptors(value)) as Record<string, unknown>
  for (const [key, member] of Object.entries(value)) {
    if (key === 'enum' || key === 'const' || key === 'default' || key === 'examples') continue
    copy[key] = closeAny(member, key === 'allOf')
  }
  if (copy['type'] === 'object' && copy['properties'] !== undefined && copy['additionalProperties'] === undefined && !composed) {
    copy['additionalProperties'] = false
  }
  return copy
}
