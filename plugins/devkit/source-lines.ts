import { SourceMap } from 'node:module'
import * as esbuild from 'esbuild'
import type { AppError } from '#core/foundation/errors.ts'
import { escapePointer } from '#core/foundation/json-pointer.ts'
import { MANIFEST_SHAPE } from '#plugins/packages/manifest.ts'
import { listUnknownMembers } from '#plugins/packages/manifest-members.ts'

/** A place in the author's sources. */
export interface SourceLine {
  file: string
  /** From 1. */
  line: number
}

const MAP_COMMENT = /\n\/\/# sourceMappingURL=[^\n]*\s*$/

/** Code with its source map inside, for programs that cannot fetch the map. */
export function withInlineMap(code: string, map: string | null): string {
  if (map === null) return code
  const address = `data:application/json;base64,${Buffer.from(map).toString('base64')}`
  return `${code.replace(MAP_COMMENT, '')}\n//# sourceMappingURL=${address}\n`
}

/** Maps offsets of a printed text to lines of a source; null where its map has no entry. */
export function lineFinder(text: string, map: string): (at: number) => SourceLine | null {
  const read = new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0])
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (at) => {
    const line = starts.findLastIndex((start) => start <= at)
    const entry = read.findEntry(line, at - (starts[line] as number)) as { originalSource?: string; originalLine?: number }
    if (typeof entry.originalSource !== 'string' || typeof entry.originalLine !== 'number') return null
    return { file: entry.originalSource, line: entry.originalLine + 1 }
  }
}

/** The package that a file belongs to; null for the author's own files. */
export function packageOf(file: string): string | null {
  const names = file.split('/')
  const at = names.lastIndexOf('node_modules') + 1
  if (at === 0 || at === names.length) return null
  return names.slice(at, at + (names[at]?.startsWith('@') ? 2 : 1)).join('/')
}

export const spelled = ({ file, line }: SourceLine): string => `${file}:${line}`

const MANIFEST = 'manifest.json'
/** Texts with the colon after names, brackets, and other values. Commas and spaces separate them. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]|[^\s"{}[\],:]+/g

/** Where a member of a valid JSON file begins, as `manifest.json:12:5`; the innermost around it if there is none at that pointer. */
export function positionInJson(text: string, pointer: string, file = MANIFEST): string {
  const members = membersOf(text)
  let place = pointer
  while (place !== '' && !members.has(place)) place = place.slice(0, place.lastIndexOf('/'))
  const at = members.get(place)
  if (at === undefined) return file
  const before = text.slice(0, at).split('\n')
  return `${file}:${before.length}:${(before.at(-1) as string).length + 1}`
}

/** The offsets of all members of a valid JSON text, by their pointers; those of objects at their names. */
function membersOf(text: string): Map<string, number> {
  const members = new Map<string, number>()
  /** The objects and lists around the token; `index` of the next item is null in objects. */
  const open: { place: string; index: number | null; member: string }[] = []
  for (const { 0: token, 1: quoted, 2: colon, index: at } of text.matchAll(TOKENS)) {
    const holder = open.at(-1)
    if (quoted !== undefined && colon !== undefined && holder !== undefined) {
      holder.member = `${holder.place}/${escapePointer(JSON.parse(quoted) as string)}`
      members.set(holder.member, at)
    } else if (token === '}' || token === ']') open.pop()
    else {
      const place = holder === undefined ? '' : holder.index === null ? holder.member : `${holder.place}/${holder.index++}`
      if (holder !== undefined && holder.index !== null) members.set(place, at)
      if (token === '{' || token === '[') open.push({ place, index: token === '[' ? 0 : null, member: place })
    }
  }
  return members
}

/** The position of an error in JSON, or of a member that occurs twice, as `manifest.json:12:5`; without a position if there is none. */
async function positionOfFault(text: string): Promise<string> {
  const [found] = await esbuild.transform(text, { loader: 'json', logLevel: 'silent' }).then(
    ({ warnings }) => warnings,
    ({ errors }: esbuild.TransformFailure) => errors,
  )
  const location = found?.location
  return location ? `${MANIFEST}:${location.line}:${location.column + 1}` : MANIFEST
}

/** Members of a manifest that present servers ignore: from a newer interface, or misspelled. @param text that is valid JSON @param named pointers of members to leave out */
export const describeUnknownMembers = (text: string, named: readonly string[] = []): string[] =>
  listUnknownMembers(MANIFEST_SHAPE, JSON.parse(text))
    .filter(({ place, name }) => !['/$schema', ...named].includes(`${place}/${name}`))
    .map(({ place, name, advice }) => {
      const at = positionInJson(text, `${place}/${escapePointer(name)}`)
      return `${at}${place === '' ? '' : ` at ${place}`}: unknown member "${name}", which servers ignore.${advice}`
    })

/**
 * The problems for which a server would refuse a manifest, a sentence for each, with the line and column of its member; then its unknown members, which
 * may be the reason.
 * @param error of `readManifest`
 */
export async function describeManifestRefusal({ message, details }: AppError, bytes: Buffer): Promise<string[]> {
  const problems = Array.isArray(details) ? (details as { path: string; message: string }[]) : []
  if (problems.length === 0) return [message]
  const text = bytes.toString('utf8')
  const isWhole = problems.length === 1 && problems[0]?.path === '/manifest'
  const fault = isWhole ? await positionOfFault(text) : MANIFEST
  const sentences = problems.map((problem) => {
    const place = problem.path.replace(/^\/manifest/, '')
    return place === '' ? `${fault}: ${problem.message}.` : `${positionInJson(text, place)} at ${place}: ${problem.message}.`
  })
  const [more] = /It has \d+ more errors\.$/.exec(message) ?? []
  if (more !== undefined) return [...sentences, more]
  const named = problems.map(({ path }) => path.replace(/^\/manifest/, ''))
  return isWhole ? sentences : [...sentences, ...describeUnknownMembers(text, named)]
}
