import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fixtures, largeExport } from '#bench/stall/fixtures.ts'
import { LIKE_TITLES, largeConfig } from '#bench/stall/plugin.ts'
import { fill, many, NAMES, OTHER_NAMES } from '#bench/stall/texts.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import { BOOK_ERROR_TYPES } from '#core/fields/analysis.ts'
import { BOOK_LOCKS } from '#core/fields/book-metadata.ts'
import { SERIES_LOCKS } from '#core/fields/series-metadata.ts'
import { FIELD_GROUPS } from '#core/matching/library-job.ts'
import { proposable } from '#core/matching/proposal.ts'
import { ADMIN } from '#test/support/running-server.ts'

const LEAVES = 200
/** Length of templates: as long as allowed. */
const TEMPLATE_LENGTH = 64 * 1024
const CONTEXT_LENGTH = 700_000

/** Nests the condition of a list as deep as allowed, with comparisons at every level. */
function nested(leaves: object[]): object {
  let condition: object = { anyOf: leaves.slice(0, -8) }
  for (let depth = 0; depth < 8; depth++) condition = { [depth % 2 ? 'anyOf' : 'allOf']: [condition, leaves.at(-1 - depth)] }
  return condition
}

/** Conditions of lists: as many and as long comparisons as allowed. */
function listConditions(kind: 'books' | 'series', ids: Fixtures): Record<string, unknown> {
  const idField = kind === 'books' ? 'seriesId' : 'libraryId'
  const texts = ['title', 'titleSort', 'summary', 'publisher', 'author', 'genre', 'tag', 'path']
  const leaf = (index: number) => ({ [texts[index % texts.length] as string]: { operator: 'contains', value: fill(500, `${index} `) } })
  const sets = many(10, () => ({ [idField]: { operator: 'in', values: many(500, (index) => ids.seriesIds[index] ?? randomUUID()) } }))
  return {
    'largest body': { condition: { anyOf: many(LEAVES, leaf) }, fullTextSearch: fill(500) },
    'deepest condition': { condition: nested(many(LEAVES, leaf)) },
    'largest sets': { condition: { anyOf: sets } },
    'everything that is there': { condition: { not: { title: { operator: 'is', value: 'none' } } } },
  }
}

/** As {@link listConditions}, in the format of Komga. */
const komgaConditions = () => {
  const leaf = (index: number) => ({ [index % 2 ? 'title' : 'tag']: { operator: 'contains', value: fill(500, `${index} `) } })
  return {
    'largest body': { condition: { anyOf: many(LEAVES, leaf) }, fullTextSearch: fill(500) },
    'deepest condition': { condition: nested(many(LEAVES, leaf)) },
    'everything that is there': { condition: { title: { operator: 'isNot', value: 'none' } } },
  }
}

/** Rules of a condition: as many and as deep as allowed, and one that matches. */
function rules(mode: 'any' | 'all', value: string): object {
  const rule = (index: number) => ({
    field: index % 2 ? 'metadata.title' : 'metadata.publisher',
    operator: 'not_equals',
    value: fill(500, `${index}${value}`),
  })
  let condition: Record<string, unknown> = { mode, rules: many(190, rule) }
  for (let depth = 0; depth < 9; depth++) condition = { mode, rules: [condition, { field: 'metadata.title', operator: 'is_not_null' }] }
  return condition
}

const titleRules = () =>
  many(50, (index) => ({ pattern: `(${'ab?c*'.repeat(10)}|x${index})+$`, replacement: fill(500), description: fill(500), enabled: true }))

/** A context in the request, as large as a body may be. */
const ownContext = () => ({ title: fill(20_000), metadata: { title: 'x', publisher: fill(CONTEXT_LENGTH), tags: NAMES } })

/** Nearly all of it is text: the computing time of templates has its own limit. */
function template(): string {
  const part = '{{#each metadata.authors}}{{name}} {{role}}{{/each}}{{#if title}}{{title}}{{/if}}{{metadata.summary}}\n'
  const named = part + '{{metadata.publisher}}'.repeat(50)
  return named + fill(TEMPLATE_LENGTH - named.length - 100)
}

const libraryEdit = () => ({
  description: fill(10_000),
  bookStrategy: 'smart',
  numberStrategy: 'filename',
  bookConfig: { text: fill(60_000) },
  defaultReadingDirection: 'ltr',
  allowedFormats: ['cbz', 'cbr', 'epub', 'pdf'],
  excludedPatterns: many(200, (index) => `never-${'x'.repeat(60)}-${index}/{a,b}*.tmp`).join('\n'),
  scanningConfig: { enabled: false, scanMode: 'normal' },
  titlePreprocessingRules: titleRules(),
  autoMatchConditions: rules('any', 'x'),
})

const jobEdit = (ids: Fixtures) => ({
  name: fill(100, randomUUID()),
  enabled: true,
  cronSchedule: '0,15,30,45 * * * *',
  timezone: 'America/Argentina/ComodRivadavia',
  config: {
    ...{ type: 'metadata_refresh', provider: ids.pluginId, scope: 'series_and_books', existingSourceIdsOnly: false },
    fieldGroups: FIELD_GROUPS.map(({ id }) => id),
    extraFields: [...new Set([...proposable('series'), ...proposable('book')])].slice(0, 60),
  },
})

const locator = () => ({
  href: fill(4_000),
  type: 'application/epub+zip',
  title: fill(1_000),
  locations: {
    ...{ fragments: many(20, () => fill(4_000)), position: 1, progression: 0.5, totalProgression: 0.5 },
    ...Object.fromEntries(many(60, (index) => [`member ${index}`, fill(4_000)])),
  },
  text: { after: fill(1_000), before: fill(1_000), highlight: fill(1_000) },
})

const account = () => ({
  username: fill(60, randomUUID()).replace(/[,\s–]/g, 'x'),
  email: `${randomUUID()}@example.org`,
  password: 'Correct-horse-3',
  permissions: [...PERMISSIONS],
})

const bulk = (records: Record<string, string[]>) => ({
  'largest body': { ...records, add: OTHER_NAMES, remove: NAMES },
  'and back': { ...records, add: NAMES, remove: OTHER_NAMES },
})
const first = (ids: string[], count: number) => ids.slice(0, count)

/**
 * The largest bodies that routes accept, where the schema alone does not describe them; made for each run. A route that is not
 * listed here gets the largest body that its schema allows.
 */
export const BODIES: Record<string, (ids: Fixtures) => Record<string, unknown>> = {
  'POST /api/v1/auth/login': () => ({ 'a user': ADMIN, 'unknown user': { username: fill(100), password: fill(100) } }),
  'POST /api/v1/auth/register': () => {
    const { permissions: _, ...wanted } = account()
    return { 'largest body': wanted }
  },
  'PUT /api/v1/user/password': () => ({ 'largest body': { currentPassword: fill(1_000), newPassword: 'short' } }),
  'PUT /api/v1/user/preferences': () => ({
    'largest body': { preferences: Object.fromEntries(many(14, (index) => [`page${index}`, fill(50_000)])) },
    'many values': { preferences: Object.fromEntries(many(150, (index) => [`key${index}`, { fit: 'width', names: NAMES.slice(0, 20) }])) },
  }),
  'PUT /api/v1/user/preferences/:key': () => ({ 'largest body': { value: fill(50_000) } }),
  'PATCH /api/v1/setup/settings': () => ({
    'largest body': {
      settings: { 'application.name': fill(100), 'display.custom_metadata_template': template() },
      skipConfiguration: false,
    },
  }),
  'POST /api/v1/users': () => ({ 'largest body': { ...account(), role: 'admin' } }),
  'PATCH /api/v1/users/:userId': () => ({ 'largest body': { ...account(), role: 'reader', isActive: true, revokeApiKeys: true } }),
  'POST /api/v1/api-keys': () => ({ 'largest body': { name: fill(200), permissions: [...PERMISSIONS], expiresAt: null } }),
  'PATCH /api/v1/api-keys/:apiKeyId': () => ({ 'largest body': { name: fill(200), permissions: [...PERMISSIONS], isActive: true } }),
  'POST /api/v1/libraries/preview-scan': () => ({
    'largest body': {
      path: mkdtempSync(join(tmpdir(), 'carrel-bench-stall-preview-')),
      seriesStrategy: 'series_volume',
      seriesConfig: { text: fill(60_000) },
    },
  }),
  'POST /api/v1/tasks': (ids) => ({
    'largest body': {
      taskType: { type: 'generate_thumbnails', bookIds: ids.bookIds.slice(0, 500), seriesIds: ids.seriesIds.slice(0, 100), force: true },
    },
  }),
  'POST /api/v1/libraries': () => {
    const path = join(mkdtempSync(join(tmpdir(), 'carrel-bench-stall-library-')), 'books')
    mkdirSync(path)
    return {
      'largest body': { ...libraryEdit(), name: fill(200, randomUUID()), path, seriesStrategy: 'series_volume', scanImmediately: false },
    }
  },
  'PATCH /api/v1/libraries/:libraryId': () => ({ 'largest body': { ...libraryEdit(), name: fill(200, 'P') } }),
  'POST /api/v1/books/list': (ids) => listConditions('books', ids),
  'POST /api/v1/series/list': (ids) => listConditions('series', ids),
  'POST /api/v1/books/list/alphabetical-groups': (ids) => listConditions('books', ids),
  'POST /api/v1/series/list/alphabetical-groups': (ids) => listConditions('series', ids),
  'POST /:prefix/api/v1/books/list': komgaConditions,
  'POST /:prefix/api/v1/series/list': komgaConditions,
  'POST /:prefix/api/v1/series/list/alphabetical-groups': komgaConditions,
  'POST /:prefix/api/v1/users/me/api-keys': () => ({ 'largest body': { comment: fill(200) } }),
  'PATCH /:prefix/api/v1/books/:bookId/read-progress': () => ({ 'largest body': { page: 1 } }),
  'PUT /:prefix/api/v2/series/:seriesId/read-progress/tachiyomi': () => ({ 'largest body': { lastBookNumberSortRead: 1_000_000 } }),
  'PUT /:prefix/api/v1/readlists/:readListId/read-progress/tachiyomi': () => ({ 'largest body': { lastBookRead: 10_000 } }),
  'POST /:prefix/api/v1/collections': ({ seriesIds }) => ({ 'largest body': { name: fill(200, randomUUID()), seriesIds } }),
  'POST /:prefix/api/v1/readlists': ({ bookIds }) => ({
    'largest body': { name: fill(200, randomUUID()), summary: fill(10_000), bookIds },
  }),
  'PATCH /:prefix/api/v1/collections/:collectionId': ({ seriesIds }) => ({ 'largest body': { name: fill(200, randomUUID()), seriesIds } }),
  'PATCH /:prefix/api/v1/readlists/:readListId': ({ bookIds }) => ({
    'largest body': { name: fill(200, randomUUID()), summary: fill(10_000), bookIds },
  }),
  'POST /api/v1/series/search': () => ({ 'largest body': { query: fill(500), full: true } }),
  'POST /api/v1/series/bulk/tags': ({ seriesIds }) => bulk({ seriesIds: seriesIds.slice(1, 101) }),
  'POST /api/v1/series/bulk/genres': ({ seriesIds }) => bulk({ seriesIds: seriesIds.slice(1, 101) }),
  'POST /api/v1/books/bulk/tags': ({ bookIds }) => bulk({ bookIds: first(bookIds, 500) }),
  'POST /api/v1/books/bulk/genres': ({ bookIds }) => bulk({ bookIds: first(bookIds, 500) }),
  'PUT /api/v1/books/:bookId/annotations/:annotationId': () => ({
    'largest body': {
      kind: 'highlight',
      locator: { ...locator(), locations: { totalProgression: 0.5 } },
      color: fill(40),
      note: fill(4_000),
    },
  }),
  'PUT /api/v1/books/:bookId/progression': () => ({
    'largest body': { modified: new Date().toISOString(), device: { id: fill(500), name: fill(500) }, locator: locator() },
  }),
  'POST /api/v1/books/:bookId/retry': () => ({ 'largest body': { errorTypes: BOOK_ERROR_TYPES } }),
  'POST /api/v1/books/retry-all-errors': ({ libraryId }) => ({ 'largest body': { libraryId } }),
  'PATCH /api/v1/series/:seriesId/cover/source': ({ bookIds }) => ({
    'of its book': { source: `book:${bookIds[0]}` },
    'of a person': { source: 'custom' },
  }),
  'PUT /api/v1/users/:userId/sharing-tags': ({ sharingTagIds }) => ({
    'largest body': { sharingTagId: sharingTagIds[0], accessMode: 'deny' },
  }),
  'PUT /api/v1/users/:userId/access': ({ libraryId, sharingTagIds }) => ({
    'largest body': {
      ...{ allLibraries: false, libraryIds: [libraryId], age: { mode: 'up_to', years: 99, unrated: 'show' } },
      sharingTags: sharingTagIds.map((sharingTagId) => ({ sharingTagId, accessMode: 'deny' })),
    },
  }),
  'PUT /api/v1/series/:seriesId/sharing-tags': ({ sharingTagIds }) => ({ 'largest body': { sharingTagIds } }),
  'POST /api/v1/series/:seriesId/sharing-tags': ({ sharingTagIds }) => ({ 'largest body': { sharingTagId: sharingTagIds[0] } }),
  'POST /api/v1/user/exports/series': ({ libraryId }) => ({
    'all fields as JSON': largeExport(libraryId, 'json'),
    'all fields as CSV': largeExport(libraryId, 'csv'),
    'all fields as Markdown': largeExport(libraryId, 'md'),
  }),
  'POST /api/v1/templates/render': ({ seriesIds: [seriesId], bookIds: [bookId] }) => ({
    'largest template over the largest series': { template: template(), seriesId },
    'over the largest series': { template: '{{title}} {{metadata.summary}}', seriesId },
    'over the largest book': { template: '{{title}} {{metadata.summary}}', bookId },
    'over the largest context': { template: '{{title}}', context: ownContext() },
  }),
  'POST /api/v1/templates/validate': () => ({
    'largest body': { template: template(), type: 'series' },
    'one long name': { template: `{{${'n'.repeat(60_000)}}}`, type: 'series' },
    'many names': { template: many(200, (index) => `{{titel${index}}}`).join(''), type: 'series' },
  }),
  'POST /api/v1/conditions/evaluate': ({ seriesIds: [seriesId], bookIds: [bookId] }) => ({
    'over the largest series': { condition: rules('all', 'x'), seriesId },
    'over the largest book': { condition: rules('all', 'x'), bookId },
    'over the largest context': {
      condition: { mode: 'all', rules: [{ field: 'metadata.title', operator: 'equals', value: 'x' }] },
      context: ownContext(),
    },
    patterns: {
      condition: {
        mode: 'any',
        rules: many(90, (index) => ({ field: 'metadata.title', operator: 'matches', value: `(a|b?)*${index}(a|a)*$` })),
      },
      seriesId,
    },
  }),
  'POST /api/v1/admin/settings/bulk': () => ({
    'largest body': {
      updates: [
        { key: 'application.name', value: fill(100) },
        ...many(8, () => ({ key: 'display.custom_metadata_template', value: template() })),
      ],
      changeReason: fill(1_000),
    },
  }),
  'PUT /api/v1/admin/settings/:key': () => ({ 'largest body': { value: template(), changeReason: fill(1_000) } }),
  'PATCH /api/v1/admin/plugins/:pluginId': ({ libraryId }) => ({
    'largest body': {
      ...{ config: largeConfig('largest'), privateHosts: false, libraryIds: [libraryId], useExistingExternalId: false, priority: 1 },
      metadataTargets: [...new Set([...SERIES_LOCKS, ...BOOK_LOCKS])].slice(0, 100),
      ...{
        searchQueryTemplate: `{{title}}${' '.repeat(9_900)}`,
        searchPreprocessingRules: titleRules(),
        autoMatchConditions: rules('any', 'y'),
      },
    },
  }),
  'PATCH /api/v1/user/plugins/:pluginId/config': () => ({ 'largest body': { config: largeConfig('largest') } }),
  'POST /api/v1/admin/plugins/:pluginId/consent': ({ sha256 }) => ({ 'largest body': { sha256 } }),
  'POST /api/v1/admin/plugins/:pluginId/rollback': ({ sha256Before }) => ({ 'to the previous version': { sha256: sha256Before } }),
  'POST /api/v1/libraries/:libraryId/jobs': (ids) => ({ 'largest body': jobEdit(ids) }),
  'PATCH /api/v1/libraries/:libraryId/jobs/:jobId': (ids) => ({ 'largest body': { ...jobEdit(ids), enabled: false } }),
  'POST /api/v1/libraries/:libraryId/jobs/:jobId/dry-run': (ids) => ({
    'largest body': { sampleSize: 20, configOverride: { ...jobEdit(ids).config, scope: 'series_only' } },
  }),
  ...Object.fromEntries(
    (['series', 'book'] as const).flatMap((kind) => {
      const path = kind === 'series' ? '/api/v1/series/:seriesId' : '/api/v1/books/:bookId'
      return [
        [
          `POST ${path}/metadata/apply`,
          ({ pluginId }: Fixtures) => ({
            'largest answer': { pluginId, externalId: 'largest', fields: proposable(kind), dryRun: false },
            'dry run': { pluginId, externalId: 'largest', fields: proposable(kind), dryRun: true },
          }),
        ],
        [
          `POST ${path}/metadata/auto-match`,
          ({ pluginId }: Fixtures) => ({
            'largest answer': { pluginId },
            'many titles that are like its own': { pluginId, query: LIKE_TITLES },
          }),
        ],
      ]
    }),
  ),
}
