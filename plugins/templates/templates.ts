import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Rendered, RenderTemplate, TemplateProblem } from '#core/templates/render-template.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Program } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

/** The fields that a template uses. */
export interface Outline {
  /** Dotted, with `[]` for entries of lists. */
  paths: { path: string; line: number; column: number }[]
  /** Whether it may use any field, so that it needs the whole context. */
  whole: boolean
}

interface Traced {
  output: string
  /** Every path that was read, such as `metadata.authors.0.name`. */
  usedPaths: string[]
  /** Paths that do not exist. */
  missingPaths: string[]
}

/** Templates of users and plugins, rendered in an isolate of their own process; see shared limits below. */
export interface Templates {
  renderMany: RenderTemplate
  /** Renders over one context, and reports the paths that were read. @throws invalid_value, also when this one context cannot be rendered */
  trace(template: string, context: object): Promise<Traced>
  /** Parses a template without rendering it; returns its first error as a value. @throws invalid_value when that takes too long */
  read(template: string): Promise<Outline | { error: TemplateProblem }>
  /** Names of all helpers. */
  listHelpers(): Promise<string[]>
  close(): void
}

/** Twice the longest templates that people use for whole pages. */
export const TEMPLATE_LENGTH_MAX = 64 * 1024
/** A template takes microseconds; this is a thousand times as much. */
const RENDER_CPU_MS = 50
/** For each further context of a batch. */
const MORE_CPU_MS = 0.5
/** On a busy machine a runner gets the processor late, and may stand still for a second: the wall time is only a safeguard. */
const WALL_MS_MIN = 10_000
const WALL_FACTOR = 20
/** Contexts in one transfer: larger batches are split, so that no answer exceeds its frame. */
const BATCH_MAX = 1_000
const BATCH_BYTES_MAX = 8 * 1024 * 1024
/** Some 2,000 outlines of templates. */
const OUTLINED_BYTES_MAX = 4 * 1024 * 1024

const require = createRequire(import.meta.url)

/** Handlebars runs only in the isolate: this process reads its source as text. */
const program: Program = {
  name: 'the templates',
  place: 'templates',
  sources: [
    { name: 'handlebars.js', code: readFileSync(require.resolve('handlebars/dist/handlebars.min.js'), 'utf8') },
    { name: 'render.js', code: readFileSync(new URL('guest/bundled/render/main.js', import.meta.url), 'utf8') },
  ],
  memoryMbMax: 64,
  load: { cpuMs: 1_000, wallMs: 10_000 },
  // All outputs of a batch with the JSON around them.
  resultLengthMax: 10 * 1024 * 1024,
  concurrency: 1,
  queueMax: 64,
  restMs: 100,
}

export function openTemplates(supervisor: Supervisor): Templates {
  const guest = supervisor.open(program)
  const outlines = new BoundedCache<Outline | { error: TemplateProblem }>({ bytesMax: OUTLINED_BYTES_MAX })

  /** @param cpuMs the CPU budget */
  async function ask<Result>(name: string, input: string, cpuMs: number): Promise<Result> {
    try {
      const { text } = await guest.call(name, input, { cpuMs, wallMs: Math.max(WALL_MS_MIN, Math.ceil(cpuMs * WALL_FACTOR)) })
      return JSON.parse(text) as Result
    } catch (error) {
      throw error instanceof GuestError ? refusalOf(error, cpuMs) : error
    }
  }

  async function read(template: string): Promise<Outline | { error: TemplateProblem }> {
    // The parser would take an object for its own syntax tree.
    if (typeof template !== 'string') refuse('invalid_value', 'A template must be a text.')
    const known = outlines.get(template)
    if (known) return known
    const outline = await ask<Outline | { error: TemplateProblem }>('outline', JSON.stringify({ template }), RENDER_CPU_MS)
    outlines.set(template, outline)
    return outline
  }

  async function renderMany(template: string, contexts: readonly object[]): Promise<Rendered[]> {
    const outline = await read(template)
    if ('error' in outline) throw errorOf(outline.error)
    const pick = pickerOf(outline)
    const rendered: Rendered[] = []
    for (const batch of batchesOf(contexts.map((context) => JSON.stringify(pick(context))))) {
      const input = `{"template":${JSON.stringify(template)},"contexts":[${batch.join(',')}]}`
      const answer = await ask<{ results: Rendered[] } | { error: TemplateProblem }>(
        'render',
        input,
        RENDER_CPU_MS + MORE_CPU_MS * (batch.length - 1),
      )
      if ('error' in answer) throw errorOf(answer.error)
      rendered.push(...answer.results)
    }
    return rendered
  }

  async function trace(template: string, context: object): Promise<Traced> {
    const input = JSON.stringify({ template, contexts: [context], trace: true })
    const answer = await ask<{ results: Rendered[]; trace: { used: string[]; missing: string[] } } | { error: TemplateProblem }>(
      'render',
      input,
      RENDER_CPU_MS,
    )
    if ('error' in answer) throw errorOf(answer.error)
    const [result] = answer.results
    if (result === undefined || 'error' in result) throw errorOf(result?.error)
    return { output: result.output, usedPaths: answer.trace.used, missingPaths: answer.trace.missing }
  }

  return { renderMany, trace, read, listHelpers: () => ask<string[]>('names', '{}', RENDER_CPU_MS), close: () => guest.close() }
}

/** Contexts as JSON, in groups that fit into one transfer. */
function* batchesOf(contexts: readonly string[]): Generator<string[]> {
  let batch: string[] = []
  let bytes = 0
  for (const context of contexts) {
    if (batch.length === BATCH_MAX || (batch.length > 0 && bytes + context.length > BATCH_BYTES_MAX)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(context)
    bytes += context.length
  }
  if (batch.length > 0) yield batch
}

type Tree = Map<string, Tree | null>

/** Picks the fields of a context that a template uses: most use three of a hundred, and the rest need not be transferred. */
function pickerOf({ paths, whole }: Outline): (context: object) => object {
  if (whole) return (context) => context
  const wanted: Tree = new Map()
  for (const { path } of paths) {
    let at = wanted
    const names = path.split('[]', 1)[0]?.split('.') ?? []
    for (const [index, name] of names.entries()) {
      const next = at.get(name)
      // A shorter path already includes it.
      if (next === null) break
      // Names of identifiers and of custom fields may contain dots: below them everything is included.
      if (index === names.length - 1 || name === 'externalIds' || name === 'customMetadata') {
        at.set(name, null)
        break
      }
      const deeper: Tree = next ?? new Map()
      at.set(name, deeper)
      at = deeper
    }
  }
  return (context) => pick(context as Record<string, unknown>, wanted)
}

function pick(value: Record<string, unknown>, wanted: Tree): Record<string, unknown> {
  const picked: Record<string, unknown> = {}
  for (const [name, deeper] of wanted) {
    if (!Object.hasOwn(value, name)) continue
    const member = value[name]
    const isDeep = deeper !== null && member !== null && typeof member === 'object' && !Array.isArray(member)
    picked[name] = isDeep ? pick(member as Record<string, unknown>, deeper) : member
  }
  return picked
}

function errorOf(problem: TemplateProblem | undefined): AppError {
  const { code = 'failed', message = 'The template could not be rendered.', line = null, column = null } = problem ?? {}
  const place = line === null ? '' : ` (line ${line}${column === null ? '' : `, column ${column}`})`
  return new AppError('invalid_value', `${message.replace(/\.$/, '')}${place}.`, {
    details: [{ path: '/template', code, message, ...(line !== null && { line, column }) }],
  })
}

/** The template causes exceeded limits; the server causes unavailability. */
function refusalOf({ code, message }: GuestError, cpuMs: number): AppError {
  const tooMuch: Partial<Record<GuestError['code'], string>> = {
    cpu: `The template took more than ${cpuMs} ms of CPU time`,
    timeout: 'The template took too long',
    memory: 'The template needed too much memory',
    invalid_result: 'The outputs of the template are too long',
  }
  const problem = tooMuch[code]
  if (problem)
    return new AppError('invalid_value', `${problem} and was stopped.`, { details: [{ path: '/template', code, message: problem }] })
  if (code === 'invalid_argument') refuse('payload_too_large', 'The context is too large to be rendered.')
  if (code === 'busy') refuse('unavailable', 'Too many templates are being rendered. Try again shortly.', { retryAfterSeconds: 1 })
  refuse('unavailable', 'The template could not be rendered at the moment. Try again shortly.', { cause: message, retryAfterSeconds: 1 })
}
