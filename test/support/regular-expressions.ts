import { stripTypeScriptTypes } from 'node:module'
import { parse } from 'acorn'
import { full } from 'acorn-walk'
import type { SourceFile } from '#test/support/architecture.ts'

/** A regular expression literal in the code. */
export interface Literal {
  path: string
  line: number
  expression: RegExp
}

/** A place where a regular expression is created from a computed text. */
export interface Created {
  path: string
  line: number
  code: string
}

/** All regular expressions of a file, including the patterns of schemas. A parser finds them, so strings and comments do not count. */
export function findExpressions({ path, text }: SourceFile): { literals: Literal[]; made: Created[] } {
  const script = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  const options = { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true } as const
  const literals: Literal[] = []
  const made: Created[] = []
  full(parse(script, options), (node) => {
    const line = node.loc?.start.line ?? 0
    const add = (pattern: string, flags: string) => literals.push({ path, line, expression: new RegExp(pattern, flags) })
    if (node.type === 'Literal' && node.regex) add(node.regex.pattern, node.regex.flags)
    // A pattern of a schema: the schema compiler uses this flag.
    const isPattern = node.type === 'Property' && node.key.type === 'Identifier' && node.key.name === 'pattern'
    if (isPattern && node.value.type === 'Literal' && typeof node.value.value === 'string') add(node.value.value, 'u')
    const isCall = node.type === 'NewExpression' || node.type === 'CallExpression'
    if (isCall && node.callee.type === 'Identifier' && node.callee.name === 'RegExp')
      made.push({ path, line, code: script.slice(node.start, node.end) })
  })
  return { literals, made }
}

/** Runs `load`, and returns every expression that `new RegExp` creates meanwhile. */
export async function recordCreated(load: () => Promise<unknown>): Promise<RegExp[]> {
  const Original = globalThis.RegExp
  const recorded: RegExp[] = []
  const record = (expression: RegExp) => {
    recorded.push(expression)
    return expression
  }
  globalThis.RegExp = new Proxy(Original, {
    construct: (target, given) => record(Reflect.construct(target, given)),
    apply: (target, self, given) => record(Reflect.apply(target, self, given)),
  })
  try {
    await load()
  } finally {
    globalThis.RegExp = Original
  }
  return recorded
}
