import { largestOf } from '#bench/stall/largest.ts'
import { RESULT_SCHEMAS } from '#plugins/host/results.ts'
import { packPlugin } from '#plugins/package/plugin-package.ts'

/** Of the 1,048,576 characters of the largest answer that a plugin may give. */
const ANSWER_ROOM = 900_000
const METHODS = ['search', 'get', 'match'] as const

/** What the plugin does beside answering the largest answer of its method, by the word that it is asked for. */
const HOSTILE: Record<string, string> = {
  many: '({ results: Array(500_000).fill(0), externalId: "1", match: null, confidence: 0 })',
  members:
    '({ results: [], externalIds: Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => ["id" + i, "1"])), externalId: "1" })',
  deep: '(() => { let deep = []; for (let i = 0; i < 3_000; i++) deep = [deep]; return { results: deep, externalId: "1" } })()',
  log: `(() => { for (let i = 0; i < 200; i++) ctx.log.info('x', [...Array(80).fill(1), 'pppp', '\\u0000\\u0000', '\\u0000\\u0000', '\\u202e'.repeat(800)])
    return { results: [], externalId: '1' } })()`,
  signed: `(() => { for (let i = 0; i < 50; i++) ctx.log.info('https://a/?' + 'sig=' + 'x'.repeat(2_000) + '&token='.repeat(200), 'a=b;'.repeat(500))
    return { results: [], externalId: '1' } })()`,
}

/** Ways in which the plugin can be asked to answer. */
export const ANSWERS = ['largest', ...Object.keys(HOSTILE)]

/** A program that makes a value; long texts are written short. */
function programOf(value: unknown): string {
  if (typeof value === 'string' && value.length > 40) return `text(${value.length})`
  if (Array.isArray(value)) return `[${value.map(programOf).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `({${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${programOf(member)}`)}})`
}

/** A plugin that answers as much as it may, or worse. */
export function largePlugin(): Buffer {
  const methodsOf = (kind: 'series' | 'book') =>
    METHODS.map((method) => {
      const largest = programOf(largestOf(RESULT_SCHEMAS[`metadata.${kind}.${method}`], '', ANSWER_ROOM, {}))
      return `${method}(input, ctx) {
        switch (input.query ?? input.externalId ?? input.title) {
          ${Object.entries(HOSTILE)
            .map(([word, program]) => `case '${word}': return ${program}`)
            .join('\n')}
          default: return ${largest}
        }
      }`
    })
  const main = `const text = (length) => 'Élan vital 12, '.repeat(length / 15 + 1).slice(0, length)
    export default { metadata: { series: { ${methodsOf('series')} }, book: { ${methodsOf('book')} } },
      recommendations: { get: () => ${programOf(largestOf(RESULT_SCHEMAS['recommendations.get'], '', ANSWER_ROOM, {}))} } }`
  const metadata = { methods: METHODS, idSource: 'large' }
  const manifest = {
    manifestVersion: 1,
    id: 'org.example.large',
    name: 'Large',
    version: '1.0.0',
    summary: 'Answers as much as it may',
    engine: { pluginApi: '^1.0' },
    capabilities: { 'metadata.series': metadata, 'metadata.book': metadata, recommendations: { methods: ['get'], idSource: 'large' } },
    permissions: {},
  }
  const files = { 'manifest.json': JSON.stringify(manifest), 'main.js': main }
  return packPlugin(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])), [])
}
