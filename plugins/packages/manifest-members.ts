import { didYouMean } from '#core/foundation/nearest-name.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'

/** Places listed for one name; more would not help. */
const PLACES_MAX = 3

/** A member that present servers ignore: from a newer interface, or misspelled. */
interface UnknownMember {
  /** JSON pointer of its object; empty for the manifest itself. */
  place: string
  name: string
  /** Suggestions: sentences with a leading space, or nothing. */
  advice: string
}

/** Members that the schema does not define, at any depth. Skips objects with free members. */
export function listUnknownMembers(schema: Shape, value: unknown): UnknownMember[] {
  return [...walk(schema, value, '')].map(({ place, name, names }) => ({
    place,
    name: briefText(name),
    advice: `${didYouMean(name, names)}${placeHint(schema, name, place)}`,
  }))
}

/** " There is one at /http/rateLimit." for a name that belongs to another place, or nothing. */
export function placeHint(schema: Shape, name: string, place: string): string {
  const places = [...new Set(placesOf(schema, name, ''))].filter((one) => one !== `${place}/${name}`).slice(0, PLACES_MAX)
  return places.length === 0 ? '' : ` There is one at ${places.join(', ')}.`
}

interface Found {
  place: string
  name: string
  /** The names defined there. */
  names: string[]
}

function* walk(shape: Shape, value: unknown, place: string): Generator<Found> {
  if (Array.isArray(value)) {
    if (shape.items) for (const [index, entry] of value.entries()) yield* walk(shape.items, entry, `${place}/${index}`)
    return
  }
  if (value === null || typeof value !== 'object') return
  const free = Object.values(shape.patternProperties ?? {})[0]
  const names = Object.keys(shape.properties ?? {})
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(shape.properties ?? {}, name) ? shape.properties?.[name] : free
    if (known) yield* walk(known, member, `${place}/${briefText(name)}`)
    else if (shape.properties) yield { place, name, names }
  }
}

function* placesOf(shape: Shape, name: string, place: string): Generator<string> {
  if (shape.items) yield* placesOf(shape.items, name, `${place}/0`)
  for (const free of Object.values(shape.patternProperties ?? {})) yield* placesOf(free, name, `${place}/<name>`)
  for (const [member, deeper] of Object.entries(shape.properties ?? {})) {
    if (member === name) yield `${place}/${member}`
    yield* placesOf(deeper, name, `${place}/${member}`)
  }
}
