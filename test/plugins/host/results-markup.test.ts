import t from 'tap'
import type { TSchema } from 'typebox'
import { RESULT_SCHEMAS, readResult } from '#plugins/host/results.ts'

interface Shape {
  type?: string
  pattern?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  minimum?: number
}

const MARKUP = '&lt;script&gt;steal()&lt;/script&gt;<b onclick="x">Good</b> &amp; &#60;i&#62;new&#60;/i&#62;'

/** An answer with the same text in each place for a text, and the same address in each place for an address. */
function filled(shape: Shape, place: string, places: Set<string>): unknown {
  const { anyOf, properties, items, pattern } = shape
  if (anyOf) return filled(anyOf.find(({ type }) => type !== 'null') ?? {}, place, places)
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, filled(one, `${place}/${name}`, places)]))
  if (items) return [filled(items, place, places)]
  if (shape.enum) return shape.enum[0]
  if (shape.type === 'number' || shape.type === 'integer') return Math.max(0, shape.minimum ?? 0)
  if (shape.type === 'boolean') return true
  if (shape.type === 'object') return {}
  if (pattern === '^https?://') return 'https://a.example/x"y\'z\n?q=<b>"'
  if (pattern !== undefined) return '1'
  places.add(place)
  return MARKUP
}

const textsIn = (value: unknown, place = ''): [string, string][] =>
  typeof value === 'string'
    ? [[place, value]]
    : Object.entries((value as object | null) ?? {}).flatMap(([name, one]) =>
        textsIn(one, Array.isArray(value) ? place : `${place}/${name}`),
      )

t.test(
  'markup in any text of any answer becomes text once, after entities were decoded; addresses are written as browsers write them',
  async (t) => {
    for (const [method, schema] of Object.entries<TSchema>(RESULT_SCHEMAS)) {
      const places = new Set<string>()
      const answer = readResult(method, JSON.stringify(filled(schema as Shape, '', places)))
      t.ok(places.size > 0, method)
      for (const [place, text] of textsIn(answer)) {
        if (place === '/nextCursor') t.equal(text, MARKUP, 'what goes back to the service stays as it is')
        else if (places.has(place)) t.equal(text, 'Good & new', `${method}${place}`)
        else if (text.startsWith('http')) t.equal(text, 'https://a.example/x%22y%27z?q=%3Cb%3E%22', `${method}${place}`)
      }
    }
  },
)
