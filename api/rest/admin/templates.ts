import { performance } from 'node:perf_hooks'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Caller } from '#core/account/caller.ts'
import { RuleCondition } from '#core/conditions/condition-schema.ts'
import { BookContext, type Context, SeriesContext } from '#core/conditions/context.ts'
import { type ContextKind, isField, keysUsed, listFields, nearestField, nearestIdentifier } from '#core/conditions/fields.ts'
import { COMIC_INFO_KEY, pluginKey } from '#core/fields/source-key.ts'
import { refuse } from '#core/foundation/errors.ts'
import { FreeObject, Nullable, OneOf, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'
import { listIdNames, listUsedKeys } from '#core/metadata/id-name-query.ts'
import { getBookContext, getSeriesContext } from '#core/templates/context-query.ts'
import { type Outline, TEMPLATE_LENGTH_MAX } from '#plugins/templates/templates.ts'

type Services = Pick<DataServices, 'database'> & TemplateServices
const endpoint = endpointOf<Services>()

const tag = 'templates'
const allow = { who: 'books-read' } as const

const Template = Type.String({
  ...UNTRIMMED,
  maxLength: TEMPLATE_LENGTH_MAX,
  description: 'A Handlebars template. Only {{html …}} escapes its value.',
})

/** How many unknown names get a suggestion; a template with more has another problem. */
const NEAREST_MAX = 20
/** How many keys of identifiers are looked up: no book has more. The others count as unknown. */
const KEYS_MAX = 200

/** What a template or condition is evaluated on: exactly one of the three. */
const subject = {
  bookId: Type.Optional(Uuid),
  seriesId: Type.Optional(Uuid),
  context: Type.Optional(FreeObject({ description: 'A custom context instead of a book or series.' })),
}

type Call = { caller: Caller; services: Services }
type Subject = { bookId?: string; seriesId?: string; context?: Record<string, unknown> }

async function contextOf({ caller, services: { database } }: Call, { bookId, seriesId, context }: Subject): Promise<Context> {
  if ([bookId, seriesId, context].filter((given) => given !== undefined).length !== 1)
    refuse('invalid_request', 'Give exactly one of bookId, seriesId and context.')
  if (bookId !== undefined) return await getBookContext(database, caller, bookId)
  if (seriesId !== undefined) return await getSeriesContext(database, caller, seriesId)
  // It has the members that the caller gives: templates and conditions read any JSON object.
  return context as unknown as Context
}

const Position = { line: Nullable(Type.Integer({ minimum: 1 })), column: Nullable(Type.Integer({ minimum: 1 })) }
const Kind = OneOf(['book', 'series'])

export const templateRoutes = [
  endpoint({
    name: 'getBookContext',
    method: 'GET',
    path: '/api/v1/books/:bookId/context',
    summary: 'Get the template context of a book',
    tag,
    allow,
    params: Type.Object({ bookId: Uuid }),
    reply: BookContext,
    run: (call, { params }) => getBookContext(call.services.database, call.caller, params.bookId),
  }),
  endpoint({
    name: 'getSeriesContext',
    method: 'GET',
    path: '/api/v1/series/:seriesId/context',
    summary: 'Get the template context of a series',
    tag,
    allow: { who: 'series-read' },
    params: Type.Object({ seriesId: Uuid }),
    reply: SeriesContext,
    run: (call, { params }) => getSeriesContext(call.services.database, call.caller, params.seriesId),
  }),
  endpoint({
    name: 'renderTemplate',
    method: 'POST',
    path: '/api/v1/templates/render',
    changes: null,
    summary: 'Render a template for a book, a series or a custom context',
    tag,
    allow,
    body: Type.Object({ template: Template, ...subject }),
    reply: Type.Object({
      output: Type.String(),
      usedPaths: Type.Array(Type.String(), { description: 'Paths that the template used, in order.' }),
      missingPaths: Type.Array(Type.String(), { description: 'Used paths without a value.' }),
      durationMs: Type.Number({ minimum: 0, description: 'Milliseconds, including communication with the isolate.' }),
    }),
    run: async (call, { body: { template, ...rest } }) => {
      const context = await contextOf(call, rest)
      const begun = performance.now()
      const traced = await call.services.templates.trace(template, context)
      return { ...traced, durationMs: Math.round((performance.now() - begun) * 1000) / 1000 }
    },
  }),
  endpoint({
    name: 'validateTemplate',
    method: 'POST',
    path: '/api/v1/templates/validate',
    changes: null,
    summary: 'Validate a template: report syntax errors and unknown fields',
    tag,
    allow,
    body: Type.Object({ template: Template, type: Type.Optional(Kind) }),
    reply: Type.Object({
      valid: Type.Boolean({ description: 'Whether it can be rendered.' }),
      errors: Type.Array(Type.Object({ message: Type.String(), ...Position })),
      warnings: Type.Array(
        Type.Object({
          message: Type.String(),
          path: Type.String({
            description:
              'The unknown field, or the field that uses an unknown key of an identifier. Known keys are those of installed plugins, `comicinfo`, and keys of identifiers on records that you may see.',
          }),
          nearest: Nullable(Type.String(), {
            description: 'The closest known field; only for the first 20 warnings, and for names of at most 100 characters.',
          }),
          ...Position,
        }),
      ),
    }),
    run: async (call, { body }) => {
      const outline = await call.services.templates.read(body.template)
      if ('error' in outline) {
        const { message, line, column } = outline.error
        return { valid: false, errors: [{ message, line, column }], warnings: [] }
      }
      const kind = body.type ?? 'book'
      const keys = await readKeys(call, outline)
      const unknown = outline.paths.filter(({ path }) => !isField(kind, path) || keys.isUnknown(path))
      return {
        valid: true,
        errors: [],
        warnings: unknown.map((used, index) => warningOf(kind, used, keys, index < NEAREST_MAX)),
      }
    },
  }),
  endpoint({
    name: 'evaluateCondition',
    method: 'POST',
    path: '/api/v1/conditions/evaluate',
    changes: null,
    summary: 'Evaluate a condition on a book, a series or a custom context',
    tag,
    allow,
    body: Type.Object({
      condition: RuleCondition,
      ...subject,
    }),
    reply: Type.Object({
      passed: Type.Boolean(),
      rules: Type.Array(
        FreeObject({
          description: 'Each rule with `actual`, the value of its field, and `passed`; groups with their own `rules`.',
        }),
      ),
    }),
    run: async (call, { body: { condition, ...rest } }) =>
      await call.services.rules.explain(condition, await contextOf(call, rest), '/condition'),
  }),
  endpoint({
    name: 'listTemplateFields',
    method: 'GET',
    path: '/api/v1/templates/fields',
    summary: 'List all fields and helpers of templates and conditions',
    tag,
    allow,
    query: Type.Object({ type: Type.Optional(Kind) }),
    reply: Type.Object({
      fields: Type.Array(Type.Object({ path: Type.String(), type: Type.String(), nullable: Type.Boolean(), description: Type.String() })),
      helpers: Type.Array(Type.String()),
    }),
    run: async (call, { query }) => ({
      fields: [...listFields(query.type ?? 'book')],
      helpers: await call.services.templates.listHelpers(),
    }),
  }),
]

interface Keys {
  /** Keys of installed plugins and of ComicInfo. */
  fixed: string[]
  /** Whether a path uses an identifier with an unknown key. */
  isUnknown: (path: string) => boolean
}

async function readKeys({ caller, services: { database } }: Call, { paths }: Outline): Promise<Keys> {
  const used = new Set(paths.flatMap(({ path }) => keysUsed(path)))
  if (used.size === 0) return { fixed: [], isUnknown: () => false }
  const fixed = [...[...(await listIdNames(database))].map(pluginKey), COMIC_INFO_KEY]
  const known = new Set(fixed)
  const others = [...used].filter((key) => !known.has(key)).slice(0, KEYS_MAX)
  for (const key of await listUsedKeys(database, caller, others)) known.add(key)
  return {
    fixed,
    isUnknown: (path) => {
      const keys = keysUsed(path)
      return keys.length > 0 && !keys.some((key) => known.has(key))
    },
  }
}

function warningOf(kind: ContextKind, used: { path: string; line: number; column: number }, keys: Keys, looksForNearest: boolean) {
  if (keys.isUnknown(used.path)) {
    const nearest = looksForNearest ? nearestIdentifier(used.path, keys.fixed) : null
    const message = `No identifier has the key of "${used.path}"${nearest === null ? '.' : `; did you mean "${nearest}"?`}`
    return { ...used, nearest, message }
  }
  const nearest = looksForNearest ? nearestField(kind, used.path) : null
  const message = `A ${kind} has no field "${used.path}"${nearest === null ? '.' : `; did you mean "${nearest}"?`}`
  return { ...used, nearest, message }
}
