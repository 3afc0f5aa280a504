import { stripTypeScriptTypes } from 'node:module'
import { dirname, posix } from 'node:path'
import { type AnyNode, type Node, parse } from 'acorn'
import { full } from 'acorn-walk'
import type { SourceFile } from '#test/support/architecture.ts'

/** The maximum number of files in one flow. */
export const FLOW_FILES_MAX = 9

/** One row of a table of docs/architecture.md; `reached` is empty in the first one. */
export interface Step {
  path: string
  reached: string
}

/** The flows of docs/architecture.md by title. */
export function readFlows(page: string): Map<string, Step[]> {
  const section = /^## Six flows$([\s\S]*?)(?=^## )/m.exec(page)?.[1] ?? ''
  const flows = new Map<string, Step[]>()
  for (const part of section.split(/^### /m).slice(1)) {
    const rows = [...part.matchAll(/^\| (\d+) \| `([^`]+)` \| (.*?) ?\| .+ \|$/gm)]
    const isCounted = rows.every(([, number], index) => Number(number) === index + 1)
    if (!isCounted) throw new Error(`The files of "${part.split('\n')[0]}" are not counted from 1.`)
    flows.set(
      part.split('\n')[0] as string,
      rows.map(([, , path, reached]) => ({ path: path as string, reached: reached as string })),
    )
  }
  return flows
}

/** Files by path, and the files that each of them loads: imports of code, and modules that it names by URL for a thread. Type imports do not count. */
export interface Sources {
  text: (path: string) => string
  loads: (path: string) => ReadonlySet<string>
  has: (path: string) => boolean
  paths: readonly string[]
}

const IMPORT =
  /^(?:import|export)\s(type\s)?([^'";]*?)\sfrom\s['"]([#.][^'"]+)['"]|\bimport\(\s*['"]([#.][^'"]+)['"]\s*\)|new URL\(\s*['"](\.[^'"]+\.ts)['"], import\.meta\.url\)/gm
const isOfTypes = (names: string) =>
  /^\{/.test(names) &&
  names
    .replace(/[{}]/g, '')
    .split(',')
    .every((name) => /^\s*(type\s.*)?$/.test(name))

function loadsOf({ path, text }: SourceFile): Set<string> {
  const targets = [...text.matchAll(IMPORT)].flatMap(([, type, names = '', from, dynamic, url]) => {
    const specifier = from ?? dynamic ?? (url as string)
    if (type || isOfTypes(names)) return []
    return specifier.startsWith('#') ? specifier.slice(1) : posix.normalize(posix.join(dirname(path), specifier))
  })
  return new Set(targets)
}

export function openSources(files: readonly SourceFile[]): Sources {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const loads = new Map(files.map((file) => [file.path, loadsOf(file)]))
  return {
    text: (path) => texts.get(path) ?? '',
    loads: (path) => loads.get(path) ?? new Set(),
    has: (path) => texts.has(path),
    paths: [...texts.keys()],
  }
}

/**
 * The problems of a flow: too long, a link that is not in the code, or a missing file between two others.
 * @param works whether a file does work in the flow; by default any may
 */
export function findFlowProblems(steps: readonly Step[], sources: Sources, works: (path: string) => boolean = () => true): string[] {
  const problems: string[] = []
  if (steps.length > FLOW_FILES_MAX) problems.push(`${steps.length} files; the limit is ${FLOW_FILES_MAX}`)
  const absent = steps.filter(({ path }) => !sources.has(path)).map(({ path }) => `${path} does not exist`)
  const paths = steps.map(({ path }) => path)
  if (new Set(paths).size < paths.length) problems.push('a file is named twice')
  if (absent.length > 0 || steps.length < 2) return [...problems, ...absent, ...(steps.length < 2 ? ['names no files'] : [])]
  const links = steps.map((step) => readLink(step.reached))
  for (const [index, link] of links.entries()) {
    const path = paths[index] as string
    if (index === 0) {
      if (steps[0]?.reached !== '') problems.push(`${path} is the first: nothing leads to it`)
    } else if (link === null) problems.push(`${path}: "${steps[index]?.reached}" is not a known kind of link`)
    else if (!isBackAt(links, index - 1, link.from)) problems.push(`${path}: the work is not in file ${link.from + 1} when it gets there`)
    else if (!LINKS[link.kind]?.({ path, from: paths[link.from] as string, name: link.name }, sources))
      problems.push(`${path}: "${steps[index]?.reached}" is not so in the code`)
  }
  return [...problems, ...findBypasses(paths, links, { ...sources, works })]
}

/** Missing files between two files of the flow: the first loads them, and they load a later file, or the file whose result they use. */
function findBypasses(
  paths: readonly string[],
  links: readonly (Link | null)[],
  sources: Sources & { works: (path: string) => boolean },
): string[] {
  return paths.flatMap((path, index) => {
    const link = links[index]
    const taken = link?.kind === 'imports' ? [paths[link.from] as string] : []
    const ends = [...paths.slice(index + 1), ...taken]
    const left = [...sources.loads(path)].filter((between) => !paths.includes(between) && sources.works(between))
    return left.flatMap((between) =>
      ends.filter((end) => sources.loads(between).has(end)).map((end) => `${between} is left out between ${path} and ${end}`),
    )
  })
}

interface Link {
  kind: string
  /** Index of the other file. */
  from: number
  name: string
}

const KINDS: [kind: string, pattern: RegExp, number: number, name: number | null][] = [
  ['imported', /^(\d+) imports it$/, 1, null],
  ['imports', /^imports (\d+)$/, 1, null],
  ['given', /^(\d+) is given `(\w+)`$/, 1, 2],
  ['isGiven', /^is given `(\w+)` of (\d+)$/, 2, 1],
  ['table', /^reads the table `(\w+)` that (\d+) writes$/, 2, 1],
  ['runs', /^runs (\d+)$/, 1, null],
]

function readLink(reached: string): Link | null {
  for (const [kind, pattern, number, name] of KINDS) {
    const match = pattern.exec(reached)
    if (match) return { kind, from: Number(match[number]) - 1, name: name === null ? '' : (match[name] as string) }
  }
  return null
}

/** Kinds of links in which the other file calls this one and waits for its result. */
const CALLS = new Set(['imported', 'given'])

/** Whether the work is in file `target` after file `last`: it is the same file, or the calls from it have returned. */
function isBackAt(links: readonly (Link | null)[], last: number, target: number): boolean {
  if (last === target) return true
  const link = links[last]
  return link != null && link.from < last && CALLS.has(link.kind) && isBackAt(links, link.from, target)
}

type Ends = { path: string; from: string; name: string }

const LINKS: Record<string, (ends: Ends, sources: Sources) => boolean> = {
  imported: ({ path, from }, { loads }) => loads(from).has(path),
  imports: ({ path, from }, { loads }) => loads(path).has(from),
  given: ({ path, from, name }, sources) => isHanded({ giver: path, receiver: from, name }, sources),
  isGiven: ({ path, from, name }, sources) => isHanded({ giver: from, receiver: path, name }, sources),
  table: ({ path, from, name }, { text }) =>
    new RegExp(`\\b(UPDATE|INSERT INTO|DELETE FROM) ${name}\\b`).test(text(from)) &&
    new RegExp(`\\b(FROM|JOIN) ${name}\\b|database\\('${name}'\\)`).test(text(path)),
  runs: ({ path, from }, { loads, text }) =>
    loads('api/server.ts').has(path) &&
    loads('api/server.ts').has('api/routes.ts') &&
    loads('api/routes.ts').has(from) &&
    /\broute\.run\(/.test(text(path)),
}

const COMPOSE = /^api\/compose(-[a-z-]+)?\.ts$/

/** Whether a compose file opens the giver and passes the member of this name to the receiver: when it opens the receiver, or as a member of a service that it calls. */
function isHanded({ giver, receiver, name }: { giver: string; receiver: string; name: string }, sources: Sources): boolean {
  const composed = sources.paths.filter((path) => COMPOSE.test(path)).map((path) => readComposition(sources.text(path)))
  const isSaid = new RegExp(`\\b${name}\\b`).test(sources.text(giver))
  const ofGiver = (file: Composition, value: string): boolean => {
    const [, root = '', member] = /^(?:\(\) => )?(\w+)(?:\.(\w+))?/.exec(value) ?? []
    if (file.imported.get(root) === giver) return true
    return (file.made.get(root) ?? []).includes(giver) || (member === name && isSaid && composed.some((other) => other.opens.has(giver)))
  }
  const [, service] = new RegExp(`\\bservices\\.(\\w+)\\.${name}\\(`).exec(sources.text(receiver)) ?? []
  return composed.some((file) => {
    const passed = file.calls.filter(({ opened }) => opened === receiver).flatMap(({ members }) => members)
    if (passed.some(({ key, value }) => key === name && ofGiver(file, value))) return true
    if (service === undefined || !isSaid) return false
    const isService = composed.some(({ members }) => members.some(({ key }) => key === service))
    const made = (file.made.get(service) ?? []).includes(giver)
    return isService && (made || file.members.some(({ key, value }) => key === name && ofGiver(file, value)))
  })
}

interface Member {
  key: string
  /** As it is written in the code. */
  value: string
}

interface Composition {
  /** Files by the names that are imported from them. */
  imported: Map<string, string>
  /** Files whose functions it calls, or of whose classes it makes objects. */
  opens: Set<string>
  /** Files by the variables with the services that were opened from them. */
  made: Map<string, string[]>
  /** Calls of imported functions and classes, with the passed members. */
  calls: { opened: string; members: Member[] }[]
  /** All members of objects in the file. */
  members: Member[]
}

const nameOf = (node: AnyNode | null | undefined): string | undefined => (node?.type === 'Identifier' ? node.name : undefined)

/** The name of the called function or the class of the new object, with or without `await`. */
function calleeOf(node: AnyNode | null | undefined): string | undefined {
  const call = node?.type === 'AwaitExpression' ? node.argument : node
  return call?.type === 'CallExpression' || call?.type === 'NewExpression' ? nameOf(call.callee) : undefined
}

function readComposition(text: string): Composition {
  const code = stripTypeScriptTypes(text, { mode: 'strip' })
  const tree = parse(code, { ecmaVersion: 'latest', sourceType: 'module' })
  const imported = new Map<string, string>()
  const functions = new Map<string, AnyNode>()
  const variables = new Map<string, AnyNode>()
  full(tree, (node) => {
    if (node.type === 'ImportDeclaration') {
      for (const { local } of node.specifiers) imported.set(local.name, String(node.source.value).replace(/^#/, ''))
    } else if (node.type === 'FunctionDeclaration') functions.set(nameOf(node.id) ?? '', node)
    else if (node.type === 'VariableDeclarator' && node.init) {
      const kind = node.init.type === 'ArrowFunctionExpression' ? functions : variables
      kind.set(nameOf(node.id) ?? '', node.init)
    }
  })
  const callsIn = (node: Node): { opened: string; node: Node }[] => {
    const found: { opened: string; node: Node }[] = []
    full(node, (inner) => {
      const opened = inner.type === 'AwaitExpression' ? undefined : imported.get(calleeOf(inner) ?? '')
      if (opened !== undefined) found.push({ opened, node: inner })
    })
    return found
  }
  const membersIn = (node: Node): Member[] => {
    const found: Member[] = []
    full(node, (inner) => {
      const key = inner.type === 'Property' ? nameOf(inner.key) : undefined
      if (inner.type === 'Property' && key) found.push({ key, value: code.slice(inner.value.start, inner.value.end) })
    })
    return found
  }
  // A service that a function of the same file opens counts as opened here.
  const filesOf = (callee: string): string[] => {
    const local = functions.get(callee)
    return local ? callsIn(local).map(({ opened }) => opened) : [imported.get(callee) ?? []].flat()
  }
  const calls = callsIn(tree)
  return {
    imported,
    opens: new Set(calls.map(({ opened }) => opened)),
    made: new Map([...variables].map(([name, init]) => [name, filesOf(calleeOf(init) ?? '')])),
    calls: calls.map(({ opened, node }) => ({ opened, members: membersIn(node) })),
    members: membersIn(tree),
  }
}
