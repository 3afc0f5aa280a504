import { largestOf } from '#bench/stall/largest.ts'
import { RESULT_SCHEMAS } from '#plugins/host/results.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'

/** Of the 1,048,576 characters of the largest answer that a plugin may give. */
const ANSWER_ROOM = 900_000
const METHODS = ['search', 'get', 'match'] as const
/** What its readers choose: all that a configuration may hold. */
const CONFIG_MEMBERS = 3
const CONFIG_MEMBER_LENGTH = 10_000

/** What the plugin does beside answering the largest answer of its method, by the word that it is asked for. */
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

/** Answers a search with as many candidates and titles as may be, each as long as it may be and like those of the series here. */
const TITLES = `(() => ({ results: Array.from({ length: 100 }, (_, i) => ({ externalId: 'c' + i, title: titleLike(i, 1_000),
    alternateTitles: Array.from({ length: 42 }, (_, j) => titleLike(i * 50 + j, 200)) })), match: null, confidence: 0, externalId: '1' }))()`

/** Ways in which the plugin can be asked to answer. */
export const ANSWERS = ['largest', ...Object.keys(HOSTILE)]
/** The answer of a search that costs most to rank. */
export const LIKE_TITLES = 'titles'

/** A configuration as large as it may be, by which its reader also says how it shall answer. */
export function largeConfig(answer: string): Record<string, string> {
  const members = Array.from(
    { length: CONFIG_MEMBERS },
    (_, index) => [`text${index}`, 'Élan vital '.repeat(CONFIG_MEMBER_LENGTH / 11 - 1)] as const,
  )
  return { answer, ...Object.fromEntries(members) }
}

/** A program that makes a value; long texts are written short. */
function programOf(value: unknown): string {
  if (typeof value === 'string' && value.length > 40) return `text(${value.length})`
  if (Array.isArray(value)) {
    const items = value.map(programOf)
    // The package has less room than the answer.
    if (items.length > 1 && new Set(items).size === 1) return `Array.from({ length: ${items.length} }, () => (${items[0]}))`
    return `[${items.join()}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `({${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${programOf(member)}`)}})`
}

/** One function of the plugin, which answers as the word says that it finds in its input or its configuration. */
function functionOf(method: string, word: string): string {
  const largest = programOf(largestOf(RESULT_SCHEMAS[method as keyof typeof RESULT_SCHEMAS], '', ANSWER_ROOM, {}))
  const cases = Object.entries({ ...HOSTILE, [LIKE_TITLES]: TITLES }).map(([name, program]) => `case '${name}': return ${program}`)
  return `(input, ctx) { switch (${word}) { ${cases.join(';\n')}; default: return ${largest} } }`
}

/** A plugin that answers as much as it may, or worse. @param more that only makes the package large */
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
    summary: 'Answers as much as it may',
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
