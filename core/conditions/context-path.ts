import type { Context } from '#core/conditions/context.ts'
import { pluginKey } from '#core/fields/source-key.ts'

/** Parts with names that users or plugins choose: they are used unchanged, including dots. */
const FREE = new Set(['externalIds', 'customMetadata'])

/**
 * The value at a dotted path in a context; undefined when the path leads nowhere.
 * - `metadata.title`, `series.metadata.title`; `total_volume_count` means `totalVolumeCount`
 * - `externalIds.count`; `externalIds.plugin:anilist` is the identifier itself, `….url` and `….hash` belong to it; `externalIds.anilist` is the same
 *   if nothing else is stored under that name
 * - `customMetadata.a.b`, where names may contain dots
 * - `metadata.authors.name` is the list of all names, `metadata.authors.0.name` the first
 */
export function readPath(context: Context, path: string): unknown {
  let at: unknown = context
  const parts = path.split('.')
  for (let index = 0; index < parts.length; index++) {
    const part = ownName(at, parts[index] as string)
    const rest = parts.slice(index + 1)
    const value = step(at, part)
    if (rest.length > 0 && FREE.has(part)) {
      return part === 'externalIds' ? readExternalId(value, rest.join('.')) : readFree(value, rest)
    }
    at = value
  }
  return at
}

/** A name unchanged, or in camel case if it was written with underscores. */
function ownName(holder: unknown, name: string): string {
  if (hasOwn(holder, name) || !name.includes('_')) return name
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

const hasOwn = (holder: unknown, name: string): holder is Record<string, unknown> =>
  holder !== null && typeof holder === 'object' && Object.hasOwn(holder, name)

function step(holder: unknown, name: string): unknown {
  if (Array.isArray(holder)) {
    if (/^\d+$/.test(name)) return holder[Number(name)]
    return holder.map((entry) => step(entry, name)).filter((value) => value !== undefined)
  }
  return hasOwn(holder, name) ? holder[name] : undefined
}

function readExternalId(ids: unknown, rest: string): unknown {
  if (rest === 'count') return ids !== null && typeof ids === 'object' ? Object.keys(ids).length : 0
  const whole = keyOf(ids, rest)
  if (whole !== undefined) return step(step(ids, whole), 'id')
  const member = /^(.*)\.(id|url|hash)$/.exec(rest)
  const key = member ? keyOf(ids, member[1] as string) : undefined
  return key === undefined ? undefined : step(step(ids, key), member?.[2] as string)
}

/** The name of a service also finds the identifier that a plugin stores under it. */
function keyOf(ids: unknown, name: string): string | undefined {
  return [name, pluginKey(name)].find((key) => hasOwn(ids, key))
}

/** The longest matching name comes first, because a name may contain dots. */
function readFree(holder: unknown, parts: readonly string[]): unknown {
  if (parts.length === 0) return holder
  if (Array.isArray(holder)) return readFree(step(holder, parts[0] as string), parts.slice(1))
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join('.')
    if (hasOwn(holder, name)) return readFree(holder[name], parts.slice(length))
  }
  return undefined
}
