import { stripTypeScriptTypes } from 'node:module'
import { type Node, parse } from 'acorn'
import { full } from 'acorn-walk'
import type { SourceFile } from '#test/support/architecture.ts'
import { declaredNames } from '#test/support/exports.ts'

type Shaped = Node & Record<string, unknown>

function eachNode({ path, text }: SourceFile, visit: (node: Shaped, line: number) => void): void {
  // Types are replaced by blanks, so line numbers stay the same.
  const code = path.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text
  const tree = parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true })
  full(tree, (node) => visit(node as Shaped, node.loc?.start.line ?? 0))
}

/** Spreads of a literal: its members can stand there themselves. */
export function findSpreadLiterals(file: SourceFile): string[] {
  const found: string[] = []
  eachNode(file, ({ type, argument }, line) => {
    const kind = (argument as Node | undefined)?.type
    if (type === 'SpreadElement' && (kind === 'ObjectExpression' || kind === 'ArrayExpression'))
      found.push(`${file.path}:${line}: write the members without the spread`)
  })
  return found
}

/** Functions `open…` that open nothing: all that they do is to create an object of a class. */
export function findIdleOpeners(file: SourceFile): string[] {
  const found: string[] = []
  const look = (name: unknown, body: unknown, line: number) => {
    const { type, body: statements } = (body ?? {}) as Shaped
    const [first, ...rest]: Record<string, unknown>[] =
      type === 'BlockStatement' ? (statements as Shaped[]) : [{ type: 'ReturnStatement', argument: body }]
    const isNew = first?.['type'] === 'ReturnStatement' && (first['argument'] as Node | null)?.type === 'NewExpression'
    if (/^open[A-Z]/.test(String(name)) && isNew && rest.length === 0)
      found.push(`${file.path}:${line}: ${name} only creates an object: export its class`)
  }
  eachNode(file, (node, line) => {
    const { type, id, init, body } = node as Shaped & { id?: { name?: string } | null; init?: Shaped | null }
    if (type === 'FunctionDeclaration') look(id?.name, body, line)
    if (type === 'VariableDeclarator' && init?.type === 'ArrowFunctionExpression') look(id?.name, init['body'], line)
  })
  return found
}

/** Interfaces with a class in the same file that implements them: the class says the same. */
export function findTwins({ path, text }: SourceFile): string[] {
  return [...text.matchAll(/^(?:export )?(?:abstract )?class (\w+)[^{\n]* implements ([^{\n]+)\{/gm)].flatMap(([, name, interfaces = '']) =>
    [...interfaces.replaceAll(/<[^{]*>/g, '').matchAll(/\w+/g)]
      .filter(([one]) => new RegExp(`^(?:export )?interface ${one}\\b`, 'm').test(text))
      .map(([one]) => `${path}: ${name} is the interface ${one} again: export the class`),
  )
}

const FORCED = /\bas (?:unknown|never)\b/

/** Casts that the compiler cannot check, without a comment above that says why they are right. */
export function findForcedCasts({ path, text }: SourceFile): string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    if (!FORCED.test(line) || /^\s*(?:\/\/|\/?\*)/.test(line)) return []
    return /^\s*\/\//.test(lines[index - 1] ?? '') ? [] : [`${path}:${index + 1}: type it, or say in a comment above why the cast is right`]
  })
}

/** Programs of their own, with names of their own: the published kit, each bundled plugin, and what runs in isolates. */
const PROGRAM = /^(?:plugin-sdk|plugins\/bundled\/[^/]+|plugins\/(?:runtime|templates)\/guest)(?=\/)/

/** Names that several files of one program export, as `name: files`. Everything outside of `PROGRAM` is one program, the server. */
export function findSharedNames(files: readonly SourceFile[], accepted: Readonly<Record<string, string>>): string[] {
  const owners = new Map<string, string[]>()
  for (const file of files) {
    const [program = ''] = PROGRAM.exec(file.path) ?? []
    for (const name of new Set(declaredNames(file))) {
      const key = `${program}:${name}`
      owners.set(key, [...(owners.get(key) ?? []), file.path])
    }
  }
  return [...owners].flatMap(([key, paths]) => {
    const name = key.slice(key.indexOf(':') + 1)
    return paths.length > 1 && !(name in accepted) ? [`${name}: ${paths.join(', ')}`] : []
  })
}
