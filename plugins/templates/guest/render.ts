import { Handlebars } from './handlebars.ts'
import { failure, readTemplate } from './parse.ts'
import { bounded, knownHelpers, own, TemplateError } from './vocabulary.ts'

/** Renders a template over many contexts, and records the fields that it uses. */

type Run = (context: object) => string

/** Total for the outputs of one batch, so that the answer fits into its frame. */
const BATCH_LENGTH_MAX = 8 * 1024 * 1024
/** Compiled templates in the cache, the most recently used: a library has a handful. */
const KEPT_MAX = 100
/** Paths in a trace. */
const TRACE_MAX = 500

/** The helpers to which {{#name}} … {{/name}} may resolve. */
const SECTIONS = ['blockHelperMissing', 'helperMissing', 'each']
const kept = new Map<unknown, Run>()
function compile(template: unknown): Run {
  const known = kept.get(template)
  if (known) {
    kept.delete(template)
    kept.set(template, known)
    return known
  }
  const { tree, called } = readTemplate(template)
  // An environment with only the used helpers: each rendering wraps every helper, which takes longer than the rendering.
  const own = Handlebars.create()
  const helpers = Object.fromEntries([...SECTIONS, ...called].map((name) => [name, Handlebars.helpers[name]]))
  Object.assign(own, { helpers })
  const run: Run = own.compile(tree, { knownHelpers, knownHelpersOnly: true })
  kept.set(template, run)
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value)
  return run
}

/** Prefix of the keys for identifiers of plugins. */
const PREFIX = 'plugin:'

/**
 * `externalIds.plugin:org.example.id` parses as five names: keys with dots are resolved name by name, without being listed. Identifiers of
 * plugins are found without the prefix too, when no other key has that name.
 */
function bridge(given: unknown): void {
  if (given === null || typeof given !== 'object') return
  const ids = given as Record<string, object>
  const keys = Object.keys(ids)
  const more = keys.filter((key) => key.startsWith(PREFIX) && !Object.hasOwn(ids, key.slice(PREFIX.length)))
  for (const [way, key] of [...keys.map((key) => [key, key] as const), ...more.map((key) => [key.slice(PREFIX.length), key] as const)]) {
    const names = way.split('.')
    if (way === key && names.length === 1) continue
    let at: object = ids
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1
      let next = own(at, name) as object | undefined
      if (next === undefined || (isLast && typeof next !== 'object')) {
        next = isLast ? (ids[key] as object) : {}
        Object.defineProperty(at, name, { value: next, enumerable: false, configurable: true })
      } else if (isLast && !Object.keys(next).length) {
        for (const [part, value] of Object.entries(ids[key] as object))
          Object.defineProperty(next, part, { value, enumerable: false, configurable: true })
      }
      at = next
    }
  }
}

/** Records which paths are read. */
function watched(value: object, path: string, trace: Trace): object {
  return new Proxy(value, {
    get(target, key) {
      if (typeof key === 'symbol' || key === 'toJSON' || (Array.isArray(target) && key in Array.prototype)) return Reflect.get(target, key)
      if (!Object.hasOwn(target, key)) {
        trace.miss(join(path, key))
        return undefined
      }
      const here = join(path, key)
      const found = (target as Record<string, unknown>)[key]
      trace.use(here)
      if (found === null) trace.miss(here)
      return found !== null && typeof found === 'object' ? watched(found, here, trace) : found
    },
  })
}
const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

type Trace = ReturnType<typeof createTrace>

function createTrace() {
  const [used, missing] = [new Set<string>(), new Set<string>()]
  const add = (set: Set<string>, path: string) => set.size < TRACE_MAX && set.add(path)
  return {
    use: (path: string) => add(used, path),
    miss: (path: string) => {
      add(used, path)
      add(missing, path)
    },
    /** Only the ends of the paths: a template that reads metadata.title does not use all of metadata. */
    read: () => {
      const all = [...used]
      return { used: all.filter((path) => !all.some((other) => other.startsWith(`${path}.`))), missing: [...missing] }
    },
  }
}

/** { template, contexts, trace? } → { results: ({ output } | { error })[], trace? }, or { error } when the template itself is wrong */
export function render({ template, contexts, trace }: { template: unknown; contexts: object[]; trace?: boolean }) {
  let run: Run
  try {
    run = compile(template)
  } catch (error) {
    return failure(error)
  }
  const tracing = trace === true ? createTrace() : null
  let length = 0
  const results = contexts.map((context) => {
    try {
      bridge(own(context, 'externalIds'))
      bridge(own(own(context, 'series'), 'externalIds'))
      const given = tracing ? watched(context, '', tracing) : context
      const output = bounded(run(given))
      length += output.length
      if (length > BATCH_LENGTH_MAX)
        throw new TemplateError('output_too_long', `The outputs of this batch are longer than ${BATCH_LENGTH_MAX} characters.`)
      return { output }
    } catch (error) {
      return failure(error)
    }
  })
  return { results, ...(tracing && { trace: tracing.read() }) }
}
