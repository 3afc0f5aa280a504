import { Handlebars } from './handlebars.ts'
import { BLOCKS, isKnown, TemplateError, type TemplatePosition } from './vocabulary.ts'

/** Parses templates and locates their errors. */

/** A node of a syntax tree: of any type, with the members of each. */
export interface Node {
  type: string
  loc: { start: TemplatePosition }
  escaped?: boolean
  path: Node
  params: Node[]
  hash?: Node | null
  pairs: Node[]
  value: Node
  body: Node[]
  program?: Node | null
  inverse?: Node | null
  blockParams?: string[]
  /** Of a path. */
  original: string
  parts: string[]
  depth: number
  data?: boolean
}

const TEMPLATE_LENGTH_MAX = 64 * 1024
/** Nobody reads a deeper template; the parser and the renderer are recursive. */
const DEPTH_MAX = 32

function parse(template: unknown): Node {
  if (typeof template !== 'string') throw new TemplateError('invalid_template', 'A template must be a text.')
  if (template.length > TEMPLATE_LENGTH_MAX)
    throw new TemplateError('invalid_template', `The template has ${template.length} characters; the limit is ${TEMPLATE_LENGTH_MAX}.`)
  try {
    // Its types describe each kind of node by itself.
    return Handlebars.parse(template) as unknown as Node
  } catch (error) {
    throw findUnclosed(template) ?? readParseError(template, (error as Error).message)
  }
}

const positionOf = (template: string, index: number): TemplatePosition => {
  const before = template.slice(0, index).split('\n')
  return { line: before.length, column: (before.at(-1) as string).length }
}

/** Describes the most common error better than the parser, which reports where it failed and not why. */
function findUnclosed(template: string): TemplateError | null {
  const lastOpen = template.lastIndexOf('{{')
  if (lastOpen > template.lastIndexOf('}}'))
    return new TemplateError('invalid_template', '{{ is not closed: }} is missing.', positionOf(template, lastOpen))
  const open: RegExpExecArray[] = []
  for (const match of template.matchAll(/\{\{~?([#/])\s*([^\s}~]+)/g)) {
    if (match[1] === '#') open.push(match)
    else if (open.at(-1)?.[2] === match[2]) open.pop()
    else {
      const last = open.at(-1)
      const message = last
        ? `{{/${match[2]}}} does not close {{#${last[2]}}}.`
        : `{{/${match[2]}}} closes nothing: {{#${match[2]}}} is missing.`
      return new TemplateError('invalid_template', message, positionOf(template, match.index))
    }
  }
  const last = open.at(-1)
  return last
    ? new TemplateError('invalid_template', `{{#${last[2]}}} is not closed: {{/${last[2]}}} is missing.`, positionOf(template, last.index))
    : null
}

/** "Parse error on line 2:\n…}}{{#if}} x\n------^\nExpecting 'ID', 'STRING', got 'CLOSE'" */
function readParseError(template: string, message: string): TemplateError {
  const own = /^([\s\S]*?) - (\d+):(\d+)$/.exec(message)
  if (own) return new TemplateError('invalid_template', own[1] as string, { line: Number(own[2]), column: Number(own[3]) })
  const row = Number(/on line (\d+)/.exec(message)?.[1] ?? 1)
  const pointer = /\n(-*)\^\n/.exec(message)?.[1]?.length ?? 0
  // The pointer counts from the shown part of the line, which begins at most 20 characters before the error.
  const shown = message.split('\n')[1] ?? ''
  const before = shown.startsWith('...') ? shown.slice(3, pointer) : shown.slice(0, pointer)
  const found = before === '' ? 0 : (template.split('\n')[row - 1] ?? '').indexOf(before)
  const at = { line: row, column: found < 0 ? 0 : found + before.length }
  const [from, to] = [message.indexOf('Expecting '), message.lastIndexOf(', got')]
  const expected = from < 0 || to < from ? '' : message.slice(from, to)
  const [, got = 'INVALID'] = /got '([A-Z_]+)'/.exec(message) ?? []
  const names = [...new Set([...expected.matchAll(/'([A-Z_]+)'/g)].flatMap(([, token]) => TOKENS[token as string] ?? []))]
  const wanted = names.length > 0 ? `, expected ${names.slice(0, 6).join(', ')}` : ''
  if (got === 'NUMBER' && /\.$/.test(before))
    return new TemplateError('invalid_template', 'A number at the end of a path must be in brackets: metadata.genres.[0].', at)
  return new TemplateError('invalid_template', `Found ${TOKENS[got] ?? got}${wanted}.`, at)
}

const TOKENS: Record<string, string> = {
  EOF: 'the end of the template',
  OPEN: '{{',
  CLOSE: '}}',
  OPEN_BLOCK: '{{#',
  OPEN_ENDBLOCK: '{{/',
  OPEN_INVERSE: '{{^',
  OPEN_UNESCAPED: '{{{',
  CLOSE_UNESCAPED: '}}}',
  OPEN_SEXPR: '(',
  CLOSE_SEXPR: ')',
  ID: 'a name',
  STRING: 'a text',
  NUMBER: 'a number',
  INVALID: 'an unexpected character',
  EQUALS: '=',
  SEP: '. or /',
  DATA: '@',
  CONTENT: 'text',
  INVERSE: '{{else}}',
}

/** Refuses unsupported syntax, makes every kind of output the same, and records the used helpers. */
function check(node: Node | null | undefined, called: Set<string>, depth = 0): void {
  if (node === null || typeof node !== 'object') return
  if (depth > DEPTH_MAX * 2)
    throw new TemplateError('invalid_template', `The template is nested deeper than ${DEPTH_MAX} levels.`, node.loc?.start)
  switch (node.type) {
    case 'PartialStatement':
    case 'PartialBlockStatement':
      throw new TemplateError('invalid_template', 'Partials are not available.', node.loc.start)
    case 'Decorator':
    case 'DecoratorBlock':
      throw new TemplateError('invalid_template', 'Decorators and inline partials are not available.', node.loc.start)
    case 'MustacheStatement':
      node.escaped = true
  }
  if (['MustacheStatement', 'SubExpression', 'BlockStatement'].includes(node.type)) checkHelper(node, called)
  for (const key of ['body', 'params', 'program', 'inverse', 'path', 'hash', 'pairs', 'value'] as const) {
    const child = node[key]
    if (Array.isArray(child)) for (const one of child) check(one, called, depth + 1)
    else check(child, called, depth + 1)
  }
}

function checkHelper(node: Node, called: Set<string>): void {
  const { path, params, hash, loc } = node
  const name = path.original
  const isCall = params.length > 0 || (hash !== undefined && hash !== null) || node.type === 'SubExpression'
  if (name === 'helperMissing' || name === 'blockHelperMissing')
    throw new TemplateError('invalid_template', `Unknown helper "${name}".`, loc.start)
  if (path.type !== 'PathExpression') {
    if (isCall) throw new TemplateError('invalid_template', 'Only helpers accept arguments.', loc.start)
    return
  }
  if (isKnown(name)) called.add(name)
  if (isCall && !isKnown(name)) throw new TemplateError('unknown_helper', `Unknown helper "${name}".`, loc.start)
  if (node.type === 'BlockStatement' && BLOCKS.includes(name) && params.length === 0)
    throw new TemplateError('invalid_template', `{{#${name}}} needs an argument: {{#${name} metadata.title}}.`, loc.start)
}

export const failure = (error: unknown) => {
  const { message, line, column } = (error ?? {}) as Partial<TemplateError>
  return {
    error: {
      code: error instanceof TemplateError ? error.code : 'failed',
      message: String(message ?? 'The template could not be rendered.').slice(0, 1_000),
      line: line ?? null,
      column: column ?? null,
    },
  }
}

/** The tree of a template that may be rendered, and the names of its helpers. @throws TemplateError */
export function readTemplate(template: unknown): { tree: Node; called: Set<string> } {
  const tree = parse(template)
  const called = new Set<string>()
  check(tree, called)
  return { tree, called }
}
