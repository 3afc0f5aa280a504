import { largestOf } from '#bench/stall/largest.ts'
import { RESULT_SCHEMAS } from '#plugins/host/results.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'

/** An answer of a plugin has at most 1,048,576 characters; this many are used. */
const ANSWER_ROOM = 900_000
const METHODS = ['search', 'get', 'match'] as const
/** The configuration of a user, as large as allowed. */
const CONFIG_MEMBERS = 3
const CONFIG_MEMBER_LENGTH = 10_000

/** Hostile answers of the plugin, by the word that selects them; without such a word it returns the largest answer of its method. */
const HOSTILE: Record<string, string> = {
  many: '({ results: Array(500_000).fill(0), recommendations: Array(500_000).fill(0), externalId: "1", match: null, confidence: 0 })',
  members:
    '({ results: [], recommendations: [], externalIds: Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => ["id" + i, "1"])), externalId: "1" })',
  deep: '(() => { let deep = []; for (let i = 0; i < 3_000; i++) deep = [deep]; return { results: deep, recommendations: deep, externalId: "1" } })()',
  log: `(() => { for (let i = 0; i < 200; i++) ctx.log.info('x', [...Array(80).fill(1), 'pppp', '\\u0000\\u0000', '\\u0000\\u0000', '\\u202e'.repeat(800)])
    return { results: [], recommendations: [], externalId: '1', match: null, confidence: 0 } })()`,
  signed: `(() => { for (let i = 0; i < 50; i++) ctx.log.info('https://a/?' + 'sig=' + 'x'.repeat(2_000) + '&token='.repeat(200), 'a=b;'.repeat(500))
    return { results: [], recommendations: [], externalId: '1', match: null, confidence: 0 } })()`,
}

/** A search answer with as many candidates and titles as allowed, as long as allowed and similar to those of the series here. */
const TITLES = `(() => ({ results: Array.from({ length: 100 }, (_, i) => ({ externalId: 'c' + i, title: titleLike(i, 1_000),
    alternateTitles: Array.from({ length: 42 }, (_, j) => titleLike(i * 50 + j, 200)) })), match: null, confidence: 0, externalId: '1' }))()`

/** The words that select an answer of the plugin. */
export const ANSWERS = ['largest', ...Object.keys(HOSTILE)]
/** The search answer whose ranking costs most. */
export const LIKE_TITLES = 'titles'

/** A configuration as large as allowed, which also selects the answer. */
export function largeConfig(answer: string): Record<string, string> {
  const members = Array.from(
    { length: CONFIG_MEMBERS },
    (_, index) => [`text${index}`, 'Élan vital '.repeat(CONFIG_MEMBER_LENGTH / 11 - 1)] as const,
  )
  return { answer, ...Object.fromEntries(members) }
}

/** Code that computes a value; long texts are computed too. */
function programOf(value: unknown): string {
  if (typeof value === 'string' && value.length > 40) return `text(${value.length})`
  if (Array.isArray(value)) {
    const items = value.map(programOf)
    // A package may be smaller than an answer.
    if (items.length > 1 && new Set(items).size === 1) return `Array.from({ length: ${items.length} }, () => (${items[0]}))`
    return `[${items.join()}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `({${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${programOf(member)}`)}})`
}

/** One function of the plugin, which selects its answer by a word in its input or configuration. */
function functionOf(method: string, word: string): string {
  const largest = programOf(largestOf(RESULT_SCHEMAS[method as keyof typeof RESULT_SCHEMAS], '', ANSWER_ROOM, {}))
  const cases = Object.entries({ ...HOSTILE, [LIKE_TITLES]: TITLES }).map(([name, program]) => `case '${name}': return ${program}`)
  return `(input, ctx) { switch (${word}) { ${cases.join(';\n')}; default: return ${largest} } }`
}

/** A plugin with the largest allowed answers, and hostile ones. @param more content that only makes the package large */
export function largePlugin(version = '1.0.0', more: { comment?: string; map?: Buffer } = {}): Buffer {
  const functionsOf = (kind: 'series' | 'book') =>
    METHODS.map((method) => `${method}${functionOf(`metadata.${kind}.${method}`, 'input.query ?? input.externalId ?? input.title')}`)
  const main = `const text = (length) => 'Élan vital 12, '.repeat(length / 15 + 1).slice(0, length)
    const titleLike = (n, length) => ('Title ' + n + ' ').repeat(100).slice(0, length)
    export default { metadata: { series: { ${functionsOf('series')} }, book: { ${functionsOf('book')} } },
      recommendations: { get${functionOf('recommendations.get', 'ctx.userConfig.answer')} } }\n// ${more.comment ?? ''}`
  const metadata = { methods: METHODS, idSource: 'large' }
  const config = {
    type: 'object',
    properties: Object.fromEntries(Object.keys(largeConfig('')).map((name) => [name, { type: 'string', maxLength: CONFIG_MEMBER_LENGTH }])),
  }
  const manifest = {
    manifestVersion: 1,
    id: 'org.example.large',
    name: 'Large',
    version,
    summary: 'Returns the largest answers',
    engine: { pluginApi: '^1.0' },
    capabilities: { 'metadata.series': metadata, 'metadata.book': metadata, recommendations: { methods: ['get'], idSource: 'large' } },
    permissions: {},
    config,
    userConfig: config,
  }
  const files: [string, Buffer][] = [
    ['manifest.json', Buffer.from(JSON.stringify(manifest))],
    ['main.js', Buffer.from(main)],
  ]
  if (more.map) files.push(['main.js.map', more.map])
  return packPlugin(new Map(files), [])
}
