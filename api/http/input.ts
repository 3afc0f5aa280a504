import type { IncomingMessage } from 'node:http'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { BODY_BYTES_MAX, readBytesBody, readJsonBody, refuseBadText } from '#api/http/body.ts'
import type { Route, Upload } from '#api/http/endpoint.ts'
import { excessOf } from '#api/http/excess.ts'
import { readParameters } from '#api/http/query.ts'
import { trimTexts } from '#api/http/trim.ts'
import { readUpload } from '#api/http/upload.ts'
import { refuse } from '#core/foundation/errors.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { cutText } from '#core/foundation/text.ts'

/** A wrong request has one or two errors; a hostile one may have a million. */
const DETAILS_MAX = 20
/** How much of an unknown name an error repeats. */
const QUOTED_LENGTH_MAX = 60

/** A broken rule means a well-formed value (422); every other error of a body means a wrong shape (400). */
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

/** For routes that accept no file. */
const NO_UPLOAD: Upload = { fileName: '', bytes: Buffer.alloc(0), fields: new Map() }

/** The errors of formats that need more words than their name. */
const FORMAT_PROBLEMS: Readonly<Record<string, string>> = {
  'date-time': 'must be a time such as 2026-01-02T10:00:00Z, in the years 1 to 9999',
  'time-zone': 'must be a time zone such as Europe/Berlin',
  name: 'must be one line with a visible character, without control characters',
}

/** Patterns that a sentence can say. */
const PATTERN_PROBLEMS: Readonly<Record<string, string>> = {
  '^[0-9a-f]{64}$': 'must be a SHA-256 as answers give it: 64 hexadecimal digits, in lower case',
  '^[A-Za-z0-9.-]+$': 'must be the id of a plugin, such as org.example.my-plugin, or its UUID on this server',
}

interface InputProblem {
  /** JSON pointer to the member. */
  path: string
  message: string
}

/** Reads and validates the input of a request for the route's `run`. */
export type ReadInput = (request: IncomingMessage, params: Record<string, string>, rawQuery: string) => Promise<Input>

interface Input {
  params: unknown
  query: unknown
  body: unknown
  upload: Upload
}

export interface InputOptions {
  bodyDeadlineMs: number
  /** Called with unknown query parameters; without it they are refused. */
  onUnknownQuery: ((names: readonly string[]) => void) | null
  /** Page 0 of a list that begins with 1 means page 1, for clients that count from 0. */
  takesPageZero?: boolean
}

/** Compiles the schemas of a route once. */
export function compileInput(route: Route<never>, options: InputOptions): ReadInput {
  const dialect = route.mount?.dialect
  const params = route.params ? compileParameters(route.params, 'path', dialect?.takesAnyId) : null
  const query = compileQuery(route, options)
  const flags = flagsOf(route.query ?? {})
  const spelled = (given: URLSearchParams) => dialect?.readQuery?.(given, flags) ?? given
  const bodySchema: TSchema | undefined = route.kind === 'endpoint' ? route.body : undefined
  const endpoint = route.kind === 'endpoint' ? route : null
  const body = bodySchema ? compileBody(bodySchema, endpoint?.bodyOptional === true, endpoint?.bodyAliases) : null
  const bytesMax = (route.kind === 'endpoint' ? route.bodyBytesMax : undefined) ?? BODY_BYTES_MAX

  const file = route.kind === 'endpoint' ? route.upload : undefined
  const { bodyDeadlineMs: deadlineMs } = options
  const exact = new Set(markedMembers(bodySchema ?? {}, 'x-exact'))
  const exactNumbers = markedMembers(bodySchema ?? {}, 'x-exact-numbers')

  return async (request, pathParams, rawQuery) => ({
    params: params?.(new URLSearchParams(pathParams)),
    query: query(spelled(new URLSearchParams(isRest(route) ? readEncoded(rawQuery) : rawQuery))),
    body: body?.(await readJsonBody(request, { bytesMax, deadlineMs, exact, exactNumbers })),
    upload: file
      ? await readUpload(request.headers['content-type'], await readBytesBody(request, { bytesMax, deadlineMs }), file.otherwise)
      : NO_UPLOAD,
  })
}

/** The names of the parameters that are true or false. */
function flagsOf({ properties = {} }: { properties?: Record<string, { type?: string }> }): ReadonlySet<string> {
  return new Set(Object.keys(properties).filter((name) => properties[name]?.type === 'boolean'))
}

/** Foreign protocols ignore what they do not know; browsers and links add parameters to the addresses of pages. */
const isRest = ({ mount, tag, path }: Route<never>): boolean => mount === undefined && tag !== 'docs' && /^\/(?:api\/|health$)/.test(path)

/** Ignoring a misspelled parameter would return the wrong result. */
function compileQuery(
  route: Route<never>,
  { onUnknownQuery: onUnknown, takesPageZero = false }: Pick<InputOptions, 'onUnknownQuery' | 'takesPageZero'>,
): (given: URLSearchParams) => unknown {
  const check = route.query ? compileParameters(route.query, 'query') : () => undefined
  const { page } = ((route.query as { properties?: Record<string, { minimum?: number }> } | undefined)?.properties ?? {}) as {
    page?: { minimum?: number }
  }
  const read = takesPageZero && page?.minimum === 1 ? (given: URLSearchParams) => check(withoutPageZero(given)) : check
  if (route.takesAnyQuery || !isRest(route)) return read
  const known = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {})
  return (given) => {
    const unknown = [...new Set(given.keys())].filter((name) => !known.includes(name))
    const [first] = unknown
    if (first === undefined) return read(given)
    if (onUnknown === null)
      refuse('invalid_request', unknownParameter(first, known), { details: unknown.slice(0, DETAILS_MAX).map(unknownMember) })
    onUnknown(unknown)
    return read(given)
  }
}

/** Decoding would turn bytes that are no UTF-8 into another text, which finds other things. @throws invalid_request */
function readEncoded(rawQuery: string): string {
  for (const part of rawQuery.split('&')) {
    try {
      // A percent sign that encodes nothing stays as it is.
      decodeURIComponent(part.replace(/%(?![0-9a-f]{2})/gi, ''))
    } catch {
      refuse('invalid_request', `The query has ${shortened(part)}, which is not UTF-8. Encode texts as UTF-8, then with percent signs.`)
    }
  }
  return rawQuery
}

function withoutPageZero(given: URLSearchParams): URLSearchParams {
  if (given.getAll('page').join() !== '0') return given
  const first = new URLSearchParams(given)
  first.set('page', '1')
  return first
}

const unknownMember = (name: string): InputProblem => ({ path: `/${shortened(name)}`, message: 'is unknown' })
const shortened = (name: string) => cutText(name, QUOTED_LENGTH_MAX)

function unknownParameter(name: string, known: readonly string[]): string {
  const all = known.length === 0 ? 'This route has none.' : `The known ones are ${known.join(', ')}.`
  return `The query parameter ${shortened(name)} is unknown.${didYouMean(name, known)} ${all}`
}

/** @param takesAnyId whether a text that is no id of this server is only unknown */
function compileParameters(schema: TSchema, place: 'path' | 'query', takesAnyId = false): (given: URLSearchParams) => unknown {
  const validator = Compile(schema)
  return (given) => {
    for (const [name, value] of given) {
      refuseBadText(name, `/${place}`)
      refuseBadText(value, `/${place}/${name}`)
    }
    const value = readParameters(schema, given, place)
    if (validator.Check(value)) return value
    const errors = validator.Errors(value)
    if (takesAnyId && errors.some((error) => error.keyword === 'format' && error.params.format === 'uuid')) refuse('not_found')
    const problems = findProblems(errors, schema)
    const [first] = problems
    refuse('invalid_request', `The ${place} parameter ${first?.path.slice(1)} ${first?.message}.`, { details: problems })
  }
}

function compileBody(schema: TSchema, isOptional: boolean, aliases?: Readonly<Record<string, string>>): (value: unknown) => unknown {
  const closed = closeObjects(schema)
  const validator = Compile(closed)
  return (given) => {
    const value = given === undefined && isOptional ? {} : aliases ? withOwnNames(given, aliases) : given
    if (value === undefined) refuse('invalid_request', 'This request needs a JSON body. Send it with Content-Type: application/json.')
    const excess = excessOf(closed, value)
    if (excess !== null) refuseProblems(excess.code, [{ path: excess.path, message: excess.message }])
    trimTexts(closed, value)
    if (validator.Check(value)) return value
    const errors = validator.Errors(value)
    refuseProblems(isRule(errors) ? 'invalid_value' : 'invalid_request', findProblems(errors, closed), suggestionFor(closed, errors))
  }
}

/** Replaces aliases of body members by the names in the schema. */
function withOwnNames(given: unknown, aliases: Readonly<Record<string, string>>): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const members = Object.entries(given).flatMap(([name, member]) => {
    const own = Object.hasOwn(aliases, name) ? (aliases[name] as string) : name
    return own !== name && Object.hasOwn(given, own) ? [] : [[own, member]]
  })
  return Object.fromEntries(members)
}

function refuseProblems(code: 'invalid_value' | 'invalid_request', problems: readonly InputProblem[], suggestion = ''): never {
  const [first] = problems
  const subject = first?.path ? `The member ${first.path.slice(1)}` : 'The body'
  refuse(code, `${subject} ${first?.message}.${suggestion}`, { details: problems })
}

/** What the first unknown member may have been meant to be. A misspelled member that is required is also missing, which is reported first. */
function suggestionFor(schema: TSchema, errors: readonly SchemaError[]): string {
  const relevant = relevantErrors(errors)
  const error = relevant.find(({ keyword }) => keyword === 'additionalProperties')
  if (error?.keyword !== 'additionalProperties') return ''
  const [name = ''] = error.params.additionalProperties
  const shape = shapeAt(schema, error.schemaPath)
  const meant = didYouMean(name, Object.keys(shape?.properties ?? {}))
  return meant === '' || error === relevant[0] ? meant : ` The member ${shortened(name)} is unknown.${meant}`
}

/** @param pointer such as `#/properties/scanningConfig/anyOf/0` */
const shapeAt = (schema: TSchema, pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, part) => (node as Record<string, unknown> | undefined)?.[part], schema) as
    | { properties?: object; required?: string[] }
    | undefined

/** A mark of a member of a body: its text reaches the route exactly as sent; its numbers have no more digits than a double holds. */
type Mark = 'x-exact' | 'x-exact-numbers'

type MarkedShape = { [Name in Mark]?: boolean } & {
  anyOf?: MarkedShape[]
  properties?: Record<string, MarkedShape>
}

function markedMembers({ anyOf = [], properties = {} }: MarkedShape, mark: Mark): string[] {
  const own = Object.keys(properties).filter((name) => isMarked(properties[name], mark))
  return [...own, ...anyOf.flatMap((branch) => markedMembers(branch, mark))]
}

/** A member with the mark, or one that may also be null. */
const isMarked = (schema: MarkedShape | undefined, mark: Mark): boolean =>
  schema?.[mark] === true || (schema?.anyOf ?? []).some((branch) => isMarked(branch, mark))

type SchemaError = ReturnType<ReturnType<typeof Compile>['Errors']>[number]

/** The errors worth reporting; for `anyOf`, those of the branch that the client meant. */
function findProblems(errors: readonly SchemaError[], schema: TSchema): InputProblem[] {
  const problems = new Map<string, InputProblem>()
  for (const error of mergeTypes(relevantErrors(errors))) {
    const { instancePath: path, keyword } = error
    const constants = keyword === 'const' || keyword === 'type' ? constantsAt(path, errors, schema) : null
    const found = constants === null ? readProblem(error) : [{ path, message: constants }]
    for (const problem of found) {
      const key = `${problem.path} ${problem.message}`
      if (problems.size < DETAILS_MAX) problems.set(key, problem)
    }
  }
  return [...problems.values()]
}

/** The constants that a value may be, and the objects, by the members that they must have; null when it may be no constant. */
function constantsAt(path: string, errors: readonly SchemaError[], schema: TSchema): string | null {
  const here = errors.filter(({ instancePath }) => instancePath === path)
  if (!here.some(({ keyword }) => keyword === 'const')) return null
  const choices = here.flatMap((error) => {
    if (error.keyword === 'const') return [JSON.stringify(error.params.allowedValue)]
    const shape = shapeAt(schema, error.schemaPath)
    if (error.keyword !== 'type' || shape === undefined || 'const' in shape) return []
    return [shape.required ? `an object with ${shape.required.join(', ')}` : String(error.params.type)]
  })
  return `must be ${[...new Set(choices)].join(' or ')}`
}

/** One error for a value that has none of the types of its schema, instead of one for each type. */
function mergeTypes(errors: readonly SchemaError[]): SchemaError[] {
  const types = new Map<string, Set<string>>()
  for (const error of errors) {
    if (error.keyword !== 'type') continue
    const known = types.get(error.instancePath) ?? new Set()
    for (const type of [error.params.type].flat()) known.add(type)
    types.set(error.instancePath, known)
  }
  return errors.map((error) =>
    error.keyword === 'type' ? { ...error, message: `must be ${[...(types.get(error.instancePath) ?? [])].join(' or ')}` } : error,
  )
}

function isRule(errors: readonly SchemaError[]): boolean {
  return relevantErrors(errors).every(({ keyword }) => RULES.has(keyword))
}

/**
 * Drops errors that only say that some branch of `anyOf` did not match, if another branch matched better: a value of the right type that
 * breaks a rule, or an object with a wrong member, was meant for that branch.
 */
function relevantErrors(errors: readonly SchemaError[]): SchemaError[] {
  const wrongTypes = new Set<string>()
  for (const error of errors) if (error.keyword === 'type') wrongTypes.add(`${error.schemaPath} ${error.instancePath}`)
  // A branch of another type adds only noise about the same value, such as "must be >= 1" for a text.
  const telling = errors.filter(
    (error) => error.keyword === 'type' || (error.keyword !== 'boolean' && !wrongTypes.has(`${error.schemaPath} ${error.instancePath}`)),
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

function readProblem(error: SchemaError): InputProblem[] {
  const { instancePath: path } = error
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: `${path}/${name}`, message: 'is missing' }))
    case 'additionalProperties':
      return error.params.additionalProperties.map((name) => ({ path: `${path}/${name}`, message: 'is unknown' }))
    case 'enum':
      return [{ path, message: `must be one of ${error.params.allowedValues.join(', ')}` }]
    case 'pattern':
      return [{ path, message: PATTERN_PROBLEMS[String(error.params.pattern)] ?? 'has characters or a format that is not allowed' }]
    case 'format':
      return [{ path, message: FORMAT_PROBLEMS[error.params.format] ?? error.message }]
    default:
      return [{ path, message: error.message }]
  }
}

/** Objects that say nothing about further members accept none, so that a misspelled member is an error. */
export function closeObjects<T extends TSchema>(schema: T): T {
  return closeAny(schema, false) as T
}

function closeAny(value: unknown, composed: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => closeAny(item, composed))
  if (typeof value !== 'object' || value === null) return value
  // The parts of an intersection do not know each other's properties, so they stay open.
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
