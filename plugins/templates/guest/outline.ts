import { Handlebars } from './handlebars.ts'
import { failure, type Node, readTemplate } from './parse.ts'
import { isKnown, knownHelpers, TemplateError, type TemplatePosition } from './vocabulary.ts'

/** Finds the fields that a template uses, without rendering it. */

type Field = TemplatePosition & { path: string }

interface Found {
  paths: Field[]
  whole: boolean
  length: number
}

/** What names refer to in a part of a template; null when it is unknown. */
interface Scope {
  base: string | null
  names: Record<string, string | null>
  parent: Scope | null
}

/** Total characters of the paths: names inside of a list repeat its name, and the server parses all of them. */
const PATHS_LENGTH_MAX = 256 * 1024

/**
 * The fields that a template uses: { paths: { path, line, column }[], whole }. Inside of lists a path has `[]` for the entry. `whole`
 * when it may use any field; or { error }.
 */
export function outline({ template }: { template: unknown }) {
  try {
    const { tree } = readTemplate(template)
    Handlebars.precompile(tree, { knownHelpers, knownHelpersOnly: true })
    const found: Found = { paths: [], whole: false, length: 0 }
    readProgram(tree, { base: '', names: {}, parent: null }, found)
    return { paths: found.paths, whole: found.whole }
  } catch (error) {
    return failure(error)
  }
}

function readProgram(program: Node | null | undefined, scope: Scope, found: Found): void {
  for (const node of program?.body ?? []) {
    if (node.type === 'MustacheStatement') readCall(node, scope, found)
    else if (node.type === 'BlockStatement') readBlock(node, scope, found)
  }
}

function readCall({ path, params, hash }: Node, scope: Scope, found: Found): void {
  const isHelper = path.type === 'PathExpression' && isKnown(path.original) && (params.length > 0 || path.parts.length === 1)
  if (!isHelper || params.length === 0) readValue(path, scope, found)
  // A computed key may refer to any member.
  for (const param of params) readValue(param, scope, found)
  for (const pair of hash?.pairs ?? []) readValue(pair.value, scope, found)
}

/** Records a path; returns what it refers to, null when unknown. */
function readValue(node: Node, scope: Scope, found: Found): string | null {
  if (node.type === 'SubExpression') {
    readCall(node, scope, found)
    return null
  }
  if (node.type !== 'PathExpression') return null
  const resolved = resolve(node, scope)
  if (resolved === null) return null
  if (resolved === '') found.whole = true
  else addPath(found, { path: resolved, line: node.loc.start.line, column: node.loc.start.column + 1 })
  return resolved
}

function addPath(found: Found, field: Field): void {
  found.length += field.path.length
  if (found.length > PATHS_LENGTH_MAX)
    throw new TemplateError('invalid_template', `The names of the fields have more than ${PATHS_LENGTH_MAX} characters in total.`, field)
  found.paths.push(field)
}

function resolve(node: Node, scope: Scope): string | null {
  const [head, ...rest] = node.parts
  if (node.data) return head === 'root' ? rest.join('.') : null
  let at: Scope | null = scope
  for (let up = node.depth; up > 0 && at; up--) at = at.parent
  if (!at) return null
  if (node.depth === 0 && head !== undefined && !/^(this|\.)/.test(node.original)) {
    for (let named: Scope | null = scope; named; named = named.parent)
      if (Object.hasOwn(named.names, head)) return (named.names[head] ?? null) === null ? null : [named.names[head], ...rest].join('.')
  }
  if (at.base === null) return null
  return [at.base, ...node.parts].filter((part) => part !== '').join('.')
}

function readBlock(node: Node, scope: Scope, found: Found): void {
  const { path, params, hash, program, inverse } = node
  const name = path.original
  const isHelper = isKnown(name)
  const subject = isHelper ? params[0] : path
  const about = subject === undefined ? null : readValue(subject, scope, found)
  for (const param of params.slice(1)) readValue(param, scope, found)
  for (const pair of hash?.pairs ?? []) readValue(pair.value, scope, found)
  // A section over a list, an object or a boolean: the meaning of its names depends on the value.
  if (!isHelper) found.whole = true
  let inner = scope
  if (name === 'each' || name === 'with' || !isHelper) {
    const base = about === null || !isHelper ? null : name === 'each' ? `${about}[]` : about
    const [first, second] = program?.blockParams ?? []
    const names = { ...(first !== undefined && { [first]: base }), ...(second !== undefined && { [second]: null }) }
    inner = { base, names, parent: scope }
  }
  readProgram(program, inner, found)
  readProgram(inverse, scope, found)
}
