import { stripTypeScriptTypes } from 'node:module'
import { type Node, parse } from 'acorn'
import { full } from 'acorn-walk'
import type { SourceFile } from '#test/support/architecture.ts'

/** A function fits on a screen; a class on a few. */
export const LENGTH_LIMITS = { function: 60, class: 250 }

const KINDS: Record<string, keyof typeof LENGTH_LIMITS> = {
  FunctionDeclaration: 'function',
  FunctionExpression: 'function',
  ArrowFunctionExpression: 'function',
  ClassDeclaration: 'class',
  ClassExpression: 'class',
}

/** Functions, methods and classes with more lines than a limit allows, nested ones included. Tables and schemas are neither. */
export function findTooLong(file: SourceFile): string[] {
  // Types are replaced by blanks, so line numbers stay the same.
  const code = file.path.endsWith('.ts') ? stripTypeScriptTypes(file.text, { mode: 'strip' }) : file.text
  const tree = parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true })
  const long: string[] = []
  full(tree, (node) => {
    const kind = KINDS[node.type]
    if (kind === undefined || !node.loc) return
    const lines = node.loc.end.line - node.loc.start.line + 1
    if (lines > LENGTH_LIMITS[kind])
      long.push(`${file.path}:${node.loc.start.line} ${kind}${nameOf(node)} has ${lines} lines, ${LENGTH_LIMITS[kind]} at most`)
  })
  return long
}

function nameOf(node: Node): string {
  const { id } = node as Node & { id?: { name: string } | null }
  return id ? ` ${id.name}` : ''
}
