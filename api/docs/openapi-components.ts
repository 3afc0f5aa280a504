import type { TSchema } from 'typebox'
import { closeObjects } from '#api/http/input.ts'

export type Json = Record<string, unknown>

/** What the description says once and refers to from everywhere. */
export interface Components {
  /** Puts references in place of the titled schemas within a schema of an answer. @throws Error when one title names two shapes */
  ofAnswer(schema: TSchema): Json
  /** The same of a body, whose objects are closed. */
  ofRequest(schema: TSchema): Json
  /** Told of a parameter, answers a place that is the parameter itself, or a reference to it where others are equal. */
  parameter(parameter: Json): Json
  /** A reference to the response of this name, which is made when it is asked for the first time. */
  response(name: string, make: () => Json): Json
  /** All of them, when everything has been told. @throws Error as above */
  finish(): Record<'schemas' | 'responses' | 'parameters', Record<string, Json>>
}

/** Members whose values are data: what is called title there is none. */
const DATA = new Set(['const', 'default', 'example', 'examples'])
/** How the name of a component is written. */
const NAME = /^[A-Z][A-Za-z0-9]*$/
/** A parameter that so many routes have is said once. */
const PARAMETER_USES_MIN = 3

export function openComponents(): Components {
  const answers = new Map<string, Json>()
  /** In the order in which they were met, inner ones before those that hold them. */
  const requests: { title: string; schema: Json; reference: Json }[] = []
  const parameters: { given: Json; place: Json }[] = []
  const responses = new Map<string, Json>()

  return {
    ofAnswer: (schema) =>
      walk(plain(schema), (title, found) => {
        keep(answers, title, found)
        return referTo('schemas', title)
      }),
    ofRequest: (schema) =>
      walk(plain(closeObjects(schema)), (title, found) => {
        const reference = {}
        requests.push({ title, schema: found, reference })
        return reference
      }),
    parameter(given) {
      const place = {}
      parameters.push({ given, place })
      return place
    },
    response(name, make) {
      if (!responses.has(name)) responses.set(name, make())
      return referTo('responses', name)
    },
    finish: () => ({
      schemas: sorted(nameRequests(answers, requests)),
      responses: sorted(responses),
      parameters: sorted(shareParameters(parameters)),
    }),
  }
}

/**
 * What a request sends under a title is the same as what answers have under it, or the same but closed, for a request takes no members that are not
 * known: then it is `…Input`.
 */
function nameRequests(
  answers: ReadonlyMap<string, Json>,
  requests: readonly { title: string; schema: Json; reference: Json }[],
): Map<string, Json> {
  const all = new Map(answers)
  for (const { title, schema, reference } of requests) {
    const ofAnswers = answers.get(title)
    const isSame = ofAnswers === undefined || textOf(ofAnswers) === textOf(schema)
    if (!isSame && opened(ofAnswers) !== opened(schema)) throw differing(title)
    const name = isSame ? title : `${title}Input`
    keep(all, name, schema)
    Object.assign(reference, referTo('schemas', name))
  }
  return all
}

/** Of the parameters of one name and place the shape that most routes have. */
function shareParameters(parameters: readonly { given: Json; place: Json }[]): Map<string, Json> {
  const uses = new Map<string, number>()
  for (const { given } of parameters) uses.set(textOf(given), (uses.get(textOf(given)) ?? 0) + 1)
  const shared = new Map<string, Json>()
  for (const [text, count] of [...uses].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))) {
    const given = JSON.parse(text) as Json
    const name = `${given['in']}.${given['name']}`
    if (count >= PARAMETER_USES_MIN && !shared.has(name)) shared.set(name, given)
  }
  for (const { given, place } of parameters) {
    const name = `${given['in']}.${given['name']}`
    const known = shared.get(name)
    Object.assign(place, known && textOf(known) === textOf(given) ? referTo('parameters', name) : given)
  }
  return shared
}

/** Copies a schema; `hoist` is given what has a name, and answers what shall stand in its place. */
function walk(schema: Json, hoist: (title: string, schema: Json) => Json): Json {
  const copyOf = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(copyOf)
    if (typeof node !== 'object' || node === null) return node
    const copy: Json = {}
    for (const [key, member] of Object.entries(node)) {
      // Generators of clients do not read patterns of names; any name is said otherwise too.
      if (key === 'patternProperties' && isAnyName(member)) copy['additionalProperties'] = copyOf(Object.values(member as object)[0])
      else copy[key] = DATA.has(key) ? member : copyOf(member)
    }
    const { title } = copy
    return typeof title === 'string' && NAME.test(title) ? hoist(title, copy) : copy
  }
  return copyOf(schema) as Json
}

const isAnyName = (patterns: unknown): boolean => Object.keys(patterns as object).join() === '^.*$'

/** Without what only libraries see. */
const plain = (schema: TSchema): Json => JSON.parse(JSON.stringify(schema))
const textOf = (schema: Json): string => JSON.stringify(schema)
const referTo = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` })

/** A schema as text, whether its objects are closed left out. */
const opened = (schema: Json): string =>
  textOf(schema)
    .replace(/"additionalProperties":false,?/g, '')
    .replaceAll(',}', '}')
    .replaceAll('Input"}', '"}')

function keep(all: Map<string, Json>, name: string, schema: Json): void {
  const known = all.get(name)
  if (known && textOf(known) !== textOf(schema)) throw differing(name)
  all.set(name, schema)
}

const differing = (title: string) =>
  new Error(
    `Two different schemas have the title ${title}. Give one of them another title; what differs in requests has a title of its own.`,
  )

const sorted = <Value>(named: ReadonlyMap<string, Value>): Record<string, Value> =>
  Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)))
