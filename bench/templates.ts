/**
 * How fast templates are rendered in their isolate, compared with plain Handlebars in this process without isolation, and how fast conditions are
 * evaluated, over 1,000 books of the database. `npm run bench:templates`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Client } from 'pg'
import { FILL_PEOPLE } from '#bench/fill-people.ts'
import { loadHttp, median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'
import { compileCondition } from '#core/conditions/condition.ts'
import { openDatabase } from '#core/database/database.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { silentLog } from '#core/foundation/log.ts'
import { listBookContexts } from '#core/templates/context-query.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openTemplates } from '#plugins/templates/templates.ts'
import { startServer } from '#test/support/running-server.ts'

const BOOKS = 1_000
const ROUNDS = 15
const SINGLES = 2_000
const RATIO_MIN = 0.4
/** Of one template and one context, which a server without isolation compiles and renders. */
const SINGLE_MAX = 8
/** The time of other requests while templates use all of their computing time, divided by their time on an idle server. */
const BURNING_P99_MAX = 2
const SECONDS = 5

const TEMPLATE =
  '{{metadata.title}} ({{metadata.year}}) {{#each metadata.authors}}{{name}}{{#unless @last}}, {{/unless}}{{/each}} - {{series.metadata.title}}'
const CONDITION = {
  mode: 'all',
  rules: [
    { field: 'metadata.year', operator: 'gte', value: 1990 },
    {
      mode: 'any',
      rules: [
        { field: 'metadata.summary', operator: 'matches', value: '(?i)dragon' },
        { field: 'metadata.genres', operator: 'contains', value: 'Drama' },
      ],
    },
    { field: 'externalIds.plugin:anilist', operator: 'is_null' },
    { field: 'series.metadata.title', operator: 'not_equals', value: 'Nothing' },
  ],
}
const FILL = `
  INSERT INTO libraries (id, name, path) VALUES ('00000000-0000-4000-8000-000000000001', 'Bench', '/bench');
  INSERT INTO series (library_id, path, title) SELECT '00000000-0000-4000-8000-000000000001', 'series ' || n, 'Series ' || n FROM generate_series(1, 50) n;
  INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, state, page_count, title, number)
    SELECT s.library_id, s.id, '/bench/' || s.path || '/' || n || '.cbz', n || '.cbz', 'cbz', 1000000, 1, 'analyzed', 20, 'Chapter ' || n, n
    FROM series s, generate_series(1, ${BOOKS / 50}) n;
  INSERT INTO book_metadata (book_id, year, publisher, authors, summary) SELECT b.id, 1980 + b.number::int, 'House',
      '[{"name": "Ann Writer", "role": "writer"}, {"name": "Bob Inker", "role": "inker"}]', repeat('A story about people in a city, told in pictures. ', 10) FROM books b;
  INSERT INTO genres (name, name_key) VALUES ('Drama', 'drama'), ('Horror', 'horror');
  INSERT INTO book_genres SELECT b.id, g.id FROM books b, genres g;
  INSERT INTO series_external_ids (series_id, source, external_id) SELECT id, 'plugin:mangabaka', '1' FROM series;
  ${FILL_PEOPLE}
  VACUUM ANALYZE;
`

/** Plain Handlebars, as a server without isolation would use it. */
const handlebars = createRequire(import.meta.url)('handlebars') as {
  compile(template: string, options: object): (context: object) => string
}

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-templates-'))
const server = await startServer({ dataFolder: join(folder, 'data') })
const supervisor = new Supervisor({ log: silentLog })
try {
  const url = await findRunningUrl(join(folder, 'data'))
  if (!url) throw new Error('The database of the server was not found')
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const statement of FILL.split(';\n')) if (statement.trim()) await client.query(statement)
  const ids: string[] = (await client.query('SELECT id FROM books')).rows.map(({ id }) => id)
  await client.end()
  const database = openDatabase({ url, poolMax: 2, log: silentLog })
  const templates = openTemplates(supervisor)
  const plain = handlebars.compile(TEMPLATE, { noEscape: true })

  const isolated: number[] = []
  const bare: number[] = []
  const isolatedAlone: number[] = []
  const bareAlone: number[] = []
  const time = async (into: number[], work: () => Promise<unknown>) => {
    const begun = performance.now()
    await work()
    into.push(performance.now() - begun)
  }
  for (let round = -2; round < ROUNDS; round++) {
    const [a, b, c, d] = round < 0 ? [[], [], [], []] : [bare, isolated, bareAlone, isolatedAlone]
    let outputs: string[] = []
    await time(a, async () => {
      outputs = [...(await listBookContexts(database, null, ids)).values()].map(plain)
    })
    await time(b, async () => {
      const rendered = await templates.renderMany(TEMPLATE, [...(await listBookContexts(database, null, ids)).values()])
      rendered.forEach((one, index) => {
        if (!('output' in one) || one.output !== outputs[index])
          throw new Error('The isolate and plain Handlebars rendered different texts')
      })
    })
    const contexts = [...(await listBookContexts(database, null, ids)).values()]
    await time(c, async () => contexts.map(plain))
    await time(d, async () => await templates.renderMany(TEMPLATE, contexts))
  }

  const [context] = (await listBookContexts(database, null, ids.slice(0, 1))).values()
  const singles: number[] = []
  const plainSingles: number[] = []
  for (let count = 0; count < SINGLES; count++) {
    await time(singles, async () => await templates.renderMany(TEMPLATE, [context as object]))
    await time(plainSingles, async () => handlebars.compile(TEMPLATE, { noEscape: true })(context as object))
  }
  singles.sort((a, b) => a - b)

  const contexts = [...(await listBookContexts(database, null, ids)).values()]
  const condition = compileCondition(CONDITION)
  const begun = performance.now()
  let tried = 0
  while (performance.now() - begun < 1_000) {
    for (const one of contexts) condition.passes(one)
    tried += contexts.length
  }
  const perSecond = (tried / (performance.now() - begun)) * 1_000

  // Endless and huge templates on two connections, one after the other, while a user reads.
  const paths = ids.slice(0, 100).map((id) => `/api/v1/books/${id}`)
  const read = async () => await loadHttp({ port: server.port, paths, headers: server.headers, connections: 2, seconds: SECONDS })
  await read()
  const quiet = await read()
  const list = Array.from({ length: 1_000 }, (_, n) => n)
  const each = '{{#each @root.list}}'
  const burn = async (template: string) =>
    await loadHttp({
      port: server.port,
      paths: ['/api/v1/templates/render'],
      headers: server.headers,
      body: { template, context: { list, text: 'x'.repeat(20_000) } },
      connections: 1,
      seconds: SECONDS + 1,
    })
  const burning = [burn(`${each.repeat(3)}${'{{/each}}'.repeat(3)}`), burn(`${each.repeat(2)}{{@root.text}}${'{{/each}}'.repeat(2)}`)]
  const loaded = await read()
  const stopped = (await Promise.all(burning)).reduce((sum, { failures }) => sum + failures, 0)

  console.table({
    quiet: { 'requests/s': Math.round(quiet.requestsPerSecond), 'p50 ms': round(quiet.p50Ms), 'p99 ms': round(quiet.p99Ms) },
    [`${stopped} stopped templates`]: {
      'requests/s': Math.round(loaded.requestsPerSecond),
      'p50 ms': round(loaded.p50Ms),
      'p99 ms': round(loaded.p99Ms),
    },
  })
  console.table({
    'from the database': {
      'plain ms': round(median(bare)),
      'isolated ms': round(median(isolated)),
      ratio: round(median(bare) / median(isolated)),
    },
    'rendering alone': {
      'plain ms': round(median(bareAlone)),
      'isolated ms': round(median(isolatedAlone)),
      ratio: round(median(bareAlone) / median(isolatedAlone)),
    },
  })
  console.log(
    `single render, ms: p50 ${round(median(singles))}, p99 ${round(singles[Math.floor(SINGLES * 0.99)] as number)}; plain ${round(median(plainSingles))}`,
  )
  console.log(`conditions per second: ${Math.round(perSecond)}`)
  const ratio = median(bare) / median(isolated)
  verdict('1,000 books from the database, ratio to plain', ratio, { atLeast: RATIO_MIN })
  verdict('single render, ratio to plain', median(singles) / median(plainSingles), { atMost: SINGLE_MAX })
  const worse = loaded.p99Ms / quiet.p99Ms
  verdict('p99 of other requests during endless templates, ratio to the idle server', worse, { atMost: BURNING_P99_MAX })
  await database.destroy()
} finally {
  supervisor.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
