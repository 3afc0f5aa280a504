import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSources, type SourceFile, sourcePaths } from '#test/support/architecture.ts'
import { EVERY_REQUEST, readFlowFiles, writeFlowFiles } from '#test/support/flow-files.ts'
import { FLOW_FILES_MAX, findFlowProblems, openSources, readFlows, type Step } from '#test/support/flows.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')
const flows = readFlows(page)
/** Of the flows that a test runs. */
const workingFiles = readFlowFiles(page)
const sources = openSources(
  readSources(
    root,
    sourcePaths(root).filter((path) => !/^(test|bench)\//.test(path)),
  ),
)

/** Whether a file, or what it loads at most `depth` imports away, has a text. */
function reaches(path: string, text: RegExp, depth: number): boolean {
  return text.test(sources.text(path)) || (depth > 0 && [...sources.loads(path)].some((next) => reaches(next, text, depth - 1)))
}

t.test('the threads that read files load no library for schemas, which takes each of them a third of its memory', async (t) => {
  const loaded = new Set(sources.paths.filter((path) => /^workers\/(formats|images|metadata)\//.test(path)))
  for (const path of loaded) for (const next of sources.loads(path)) loaded.add(next)
  t.ok(loaded.has('core/foundation/buffer-pool.ts'), 'also what those import')
  t.same(
    [...loaded].filter((path) => /from 'typebox/.test(sources.text(path))),
    [],
  )
})

t.test('each flow of docs/architecture.md is as the code has it', async (t) => {
  for (const [title, steps] of flows) {
    const ofRun = workingFiles.get(title)
    const works = (path: string) => ofRun === undefined || [ofRun, workingFiles.get(EVERY_REQUEST)].some((files) => files?.includes(path))
    // A file that is passed on when the server is composed may only pass on a function of the next one.
    const called = steps.filter(({ reached }) => !/ is given /.test(reached)).map(({ path }) => path)
    t.same(
      called.filter((path) => !works(path)),
      [],
      `${title}: its files do work when it is run`,
    )
    t.same(findFlowProblems(steps, sources, works), [], title)
  }
})

t.test('each flow begins and ends where its title says', async (t) => {
  const ends = new Map([...flows].map(([title, steps]) => [title, [steps[0]?.path ?? '', steps.at(-1)?.path ?? ''] as const]))
  t.same(
    [...ends.keys()],
    [
      'File → book',
      'Request → reply',
      'Page → client',
      'Package → plugin → proposal → metadata',
      'PATCH of metadata → row',
      'Event → stream',
    ],
  )
  const of = (title: string) => ends.get(title) as readonly [string, string]

  const [walk, view] = of('File → book')
  t.match(sources.text(walk), /export async function\* walk\(/)
  t.ok(reaches(walk, /\breaddirSync\(/, 2), 'its threads read folders')
  t.match(view, /^api\/views\/.*-view\.ts$/)
  t.match(sources.text(view), /export function bookView</)

  const [route, reply] = of('Request → reply')
  t.ok(sources.loads('api/routes.ts').has(route))
  t.match(sources.text(route), /method: 'GET',\n\s+path: '\/api\/v1\/books',/)
  t.match(sources.text(reply), /export async function sendJson\([\s\S]*response\.end\(bytes\)/)

  const [page, bytes] = of('Page → client')
  t.ok(sources.loads('api/routes.ts').has(page))
  t.match(sources.text(page), /path: '\/api\/v1\/books\/:bookId\/pages\/:pageNumber',/)
  t.match(sources.text(bytes), /async function sendBytes\([\s\S]*response\.end\(bytes\)/)

  const [upload, store] = of('Package → plugin → proposal → metadata')
  t.ok(sources.loads('api/routes.ts').has(upload))
  t.match(sources.text(upload), /method: 'POST',\n\s+path: '\/api\/v1\/admin\/plugins',[\s\S]*upload: \{/)
  t.match(store, /^core\/metadata\/.*-store\.ts$/)
  t.ok(reaches(store, /INSERT INTO \$\{metadata\}/, 1), 'writes the row of the metadata')

  const [patch, row] = of('PATCH of metadata → row')
  t.ok(sources.loads('api/routes.ts').has(patch))
  t.match(sources.text(patch), /method: 'PATCH',\n[\s\S]*patchMetadata\(/)
  t.ok(reaches(row, /INSERT INTO \$\{metadata\}/, 1), 'writes the row of the metadata')

  const [event, stream] = of('Event → stream')
  t.match(sources.text(event), /export async function announce\([\s\S]*pg_notify/)
  t.match(sources.text(stream), /socket\.write\(chunk\)/)
})

t.test('the document names each file of a flow in a row of its own', async (t) => {
  const table = '| | File | How the work reaches it | What it does |\n|---|---|---|---|\n'
  const pageOf = (rows: string) => `## Six flows\n\n### A → B\n\n${table}${rows}\n\n## Next\n`
  t.same(
    readFlows(pageOf('| 1 | `core/a.ts` | | begins |\n| 2 | `core/b.ts` | 1 imports it | ends |')),
    new Map([
      [
        'A → B',
        [
          { path: 'core/a.ts', reached: '' },
          { path: 'core/b.ts', reached: '1 imports it' },
        ],
      ],
    ]),
  )
  t.throws(() => readFlows(pageOf('| 1 | `core/a.ts` | | begins |\n| 3 | `core/b.ts` | 1 imports it | ends |')), /not counted/)
})

t.test('the list of all files of a flow is read as it is written', async (t) => {
  const written = new Map([['A → B', ['core/a.ts', 'core/b.ts', 'workers/pool/a.ts']]])
  const page = writeFlowFiles('# A\n\n<!-- all files of the flows: npm run flows -->\n\n<!-- end -->\n\n## B\n', written)
  t.match(page, '### A → B: 3 files\n\n- `core/`: `a.ts`, `b.ts`\n- `workers/pool/`: `a.ts`\n\n<!-- end -->\n\n## B\n')
  t.same(readFlowFiles(page), written)
  t.equal(writeFlowFiles(page, written), page)
  t.throws(() => readFlowFiles('# A\n'), /has no lines/)
})

const file = (path: string, text = ''): SourceFile => ({ path, text })
const importing = (path: string, ...targets: string[]): SourceFile =>
  file(path, targets.map((target) => `import { x } from '#${target}'`).join('\n'))
const steps = (...rows: [path: string, reached: string][]): Step[] => rows.map(([path, reached]) => ({ path, reached }))
const problemsOf = (rows: Step[], ...files: SourceFile[]) => findFlowProblems(rows, openSources(files))

t.test('a flow that is too long is found', async (t) => {
  const chain = (count: number) => {
    const paths = Array.from({ length: count }, (_, index) => `core/f${index}.ts`)
    const files = paths.map((path, index) => importing(path, ...paths.slice(index + 1, index + 2)))
    return problemsOf(
      paths.map((path, index) => ({ path, reached: index === 0 ? '' : `${index} imports it` })),
      ...files,
    )
  }
  t.same(chain(FLOW_FILES_MAX), [])
  t.same(chain(FLOW_FILES_MAX + 1), ['10 files; the limit is 9'])
})

t.test('a link that the code does not have is found', async (t) => {
  const [a, b, c] = ['core/a.ts', 'core/b.ts', 'core/c.ts'] as const
  const missing = (reached: string) => [`${b}: "${reached}" is not so in the code`]
  t.same(problemsOf(steps([a, ''], [b, '1 imports it']), importing(a, b), file(b)), [])
  t.same(problemsOf(steps([a, ''], [b, '1 imports it']), file(a), importing(b, a)), missing('1 imports it'))
  t.same(problemsOf(steps([a, ''], [b, 'imports 1']), file(a), importing(b, a)), [])
  t.same(problemsOf(steps([a, ''], [b, 'imports 1']), importing(a, b), file(b)), missing('imports 1'))
  t.same(problemsOf(steps([a, ''], [b, '1 imports it']), file(a, `import type { B } from '#${b}'`), file(b)), missing('1 imports it'))
  t.same(
    problemsOf(steps([a, ''], [b, '1 imports it']), file(a, `import { type B, type C } from './b.ts'`), file(b)),
    missing('1 imports it'),
  )
  t.same(problemsOf(steps([a, ''], [b, '1 imports it']), file(a, `const b = new URL('./b.ts', import.meta.url)`), file(b)), [])
  t.same(problemsOf(steps([a, ''], [b, 'leads to it']), importing(a, b), file(b)), [`${b}: "leads to it" is not a known kind of link`])
  t.same(problemsOf(steps([a, ''], [b, '1 imports it']), importing(a, b)), [`${b} does not exist`])
  t.same(problemsOf(steps([a, '']), file(a)), ['names no files'])
  t.same(problemsOf(steps([a, '2 imports it'], [b, '1 imports it']), importing(a, b), file(b)), [`${a} is the first: nothing leads to it`])
  t.same(problemsOf(steps([a, ''], [b, '1 imports it'], [a, '2 imports it']), importing(a, b), importing(b, a)), ['a file is named twice'])
  // After b the work is back in a, which has called it; but not after it has gone on to b through the database.
  t.same(problemsOf(steps([a, ''], [b, '1 imports it'], [c, '1 imports it']), importing(a, b, c), file(b), file(c)), [])
  const rows = steps([a, ''], [b, 'reads the table `books` that 1 writes'], [c, '1 imports it'])
  const store = file(a, `import { c } from './c.ts'\ndatabase.raw('UPDATE books SET x = 1')`)
  t.same(problemsOf(rows, store, file(b, `database('books')`), file(c)), [`${c}: the work is not in file 1 when it gets there`])
})

t.test('rows that nobody writes or reads are found', async (t) => {
  const rows = steps(['core/a-store.ts', ''], ['core/a-query.ts', 'reads the table `books` that 1 writes'])
  const problems = (store: string, query: string) => problemsOf(rows, file('core/a-store.ts', store), file('core/a-query.ts', query)).length
  t.equal(problems('`UPDATE books SET x = 1`', '`SELECT 1 FROM books`'), 0)
  t.equal(problems('`UPDATE book SET x = 1`', '`SELECT 1 FROM books`'), 1)
  t.equal(problems('`UPDATE books SET x = 1`', '`SELECT 1 FROM book_pages`'), 1)
  t.equal(problems('`SELECT 1 FROM books`', '`SELECT 1 FROM books`'), 1)
})

t.test('what is handed over is found in the files that compose the server', async (t) => {
  const [pool, reader, route] = ['workers/pool.ts', 'core/reader.ts', 'api/rest/pages.ts'] as const
  const files = (compose: string) => [
    file('api/compose.ts', `import { openPool } from '#${pool}'\nimport { openReader } from '#${reader}'\n${compose}`),
    file(pool, 'export function openPool() { return { readPage() {} } }'),
    file(reader, 'export function openReader({ readPage }) { return { getPage() { return readPage() } } }'),
    file(route, 'const run = ({ services }) => services.reader.getPage()'),
  ]
  const given = (compose: string) => problemsOf(steps([reader, ''], [pool, '1 is given `readPage`']), ...files(compose)).length
  t.equal(given('const pool = openPool()\nopenReader({ readPage: pool.readPage })'), 0)
  t.equal(given('const pool = new openPool()\nnew openReader({ readPage: pool.readPage })'), 0, 'an object of a class')
  t.equal(given('const pool = openPool()\nconst readPage = pool.readPage\nopenReader({})'), 1, 'not passed')
  t.equal(given('const pool = openPool()\nopenReader({ readPage: nothing })'), 1, 'something else')
  t.equal(given('openReader({ readPage: pool.readPage })'), 1, 'never opened')
  t.equal(given('openReader({ readPage: openPool() })'), 0, 'opened for it')
  const isGiven = (compose: string) => problemsOf(steps([pool, ''], [reader, 'is given `pool` of 1']), ...files(compose)).length
  t.equal(isGiven('const pool = openPool()\nopenReader({ pool })'), 0)
  t.equal(isGiven('const pool = openPool()\nopenReader({ reader: pool })'), 1)
  const served = (compose: string, name = 'getPage') =>
    problemsOf(steps([route, ''], [reader, `1 is given \`${name}\``]), ...files(compose)).length
  const local = 'async function open() { return openReader({}) }\n'
  t.equal(served('const reader = openReader({})\nexport const services = { reader }'), 0)
  t.equal(served(`${local}const reader = await open()\nexport const services = { reader }`), 0)
  t.equal(served('const reader = new openReader({})\nexport const services = { reader }'), 0, 'a class')
  t.equal(served('const other = openReader({})\nexport const host = { getPage: other.getPage.bind(other), reader: 1 }'), 0)
  t.equal(served('const reader = openPool()\nexport const services = { reader }'), 1, 'made from something else')
  t.equal(served('const reader = openReader({})\nexport const services = {}'), 1, 'no service')
  t.equal(served('const reader = openReader({})\nexport const services = { reader }', 'listPages'), 1, 'not called')
})

t.test('a handler that is not given the route is found', async (t) => {
  const rows = steps(['api/rest/a.ts', ''], ['api/http/handler.ts', 'runs 1'])
  const problems = (server: SourceFile, routes: SourceFile, handler = 'await route.run(call)') =>
    problemsOf(rows, server, routes, file('api/rest/a.ts'), file('api/http/handler.ts', handler)).length
  const [server, routes] = [importing('api/server.ts', 'api/http/handler.ts', 'api/routes.ts'), importing('api/routes.ts', 'api/rest/a.ts')]
  t.equal(problems(server, routes), 0)
  t.equal(problems(importing('api/server.ts', 'api/routes.ts'), routes), 1)
  t.equal(problems(server, file('api/routes.ts')), 1)
  t.equal(problems(server, routes, 'await answer(call)'), 1)
})

t.test('a file that stands between two others is found', async (t) => {
  const [a, b, c, between] = ['core/a.ts', 'core/b.ts', 'core/c.ts', 'core/between.ts'] as const
  const rows = steps([a, ''], [b, '1 imports it'], [c, '2 imports it'])
  t.same(problemsOf(rows, importing(a, b, between), importing(b, c), importing(between, c), file(c)), [
    `${between} is left out between ${a} and ${c}`,
  ])
  t.same(problemsOf(rows, importing(a, b, between), importing(b, c), importing(between, b), file(c)), [
    `${between} is left out between ${a} and ${b}`,
  ])
  t.same(problemsOf(rows, importing(a, b), importing(b, c, between), importing(between, a), file(c)), [], 'what leads back is none')
  const taking = steps([a, ''], [b, 'imports 1'])
  t.same(problemsOf(taking, file(a), importing(b, a, between), importing(between, a)), [`${between} is left out between ${b} and ${a}`])
  t.same(
    problemsOf(rows, importing(a, b, between), importing(b, c), file(between, `import type { C } from '#${c}'`), file(c)),
    [],
    'types pass no work',
  )
  const left = importing(a, b, between)
  t.same(
    findFlowProblems(rows, openSources([left, importing(b, c), importing(between, c), file(c)]), (path) => path !== between),
    [],
  )
})
