import { Worker } from 'node:worker_threads'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openTemplates } from '#plugins/templates/templates.ts'
import { EXAMPLE_CONTEXT, HELPER_DOCS } from '#plugins/templates/vocabulary.ts'

t.setTimeout(240_000)

const supervisor = new Supervisor({ log: silentLog })
const templates = openTemplates(supervisor)
t.teardown(() => supervisor.close())

/** The output of a template for a context, or its error. */
async function render(template: string, context: object = EXAMPLE_CONTEXT): Promise<string> {
  const [rendered] = await templates.renderMany(template, [context]).catch((error: Error) => [{ error: { message: error.message } }])
  if (rendered === undefined) throw new Error('nothing came back')
  return 'output' in rendered ? rendered.output : `! ${rendered.error.message}`
}

t.test('every helper works as documented, and none is undocumented', async (t) => {
  for (const { name, about, examples } of HELPER_DOCS) {
    t.ok(about.length > 5 && examples.length > 0, name)
    for (const { template, output } of examples) {
      t.equal(await render(template), output, template)
      t.match(template, name, `${name} is in its own example`)
    }
  }
  t.same((await templates.listHelpers()).toSorted(), HELPER_DOCS.map(({ name }) => name).toSorted())
})

t.test('paths of the specification', async (t) => {
  const context = {
    type: 'book',
    bookId: 'b',
    seriesId: 's',
    metadata: {
      title: 'T <&>',
      authors: [
        { name: 'A', role: 'writer' },
        { name: 'B', role: null },
      ],
      summary: null,
      year: 0,
      manga: false,
    },
    externalIds: {
      'plugin:anilist': { id: '1' },
      'plugin:org.example.ids': { id: '2', url: 'https://example.org' },
      comicinfo: { id: '3' },
    },
    customMetadata: { snake_case: 1, 'With Space': 2, nested: { deep: [10, 20] } },
    series: { metadata: { title: 'S' }, externalIds: { 'a.b': { id: '4' }, 'a.b.c': { id: '5' } } },
  }
  const table: [template: string, output: string][] = [
    ['{{type}} {{bookId}} {{seriesId}}', 'book b s'],
    ['{{metadata.title}} {{{metadata.title}}} {{&metadata.title}}', 'T <&> T <&> T <&>'],
    ['{{metadata.authors}}', 'A, B'],
    ['{{metadata.authors.1.name}} {{metadata.authors.[0]}}', 'B A'],
    ['{{externalIds.plugin:anilist.id}} {{externalIds.[plugin:anilist].id}} {{externalIds.comicinfo.id}}', '1 1 3'],
    ['{{externalIds.plugin:org.example.ids.id}} {{externalIds.[plugin:org.example.ids].url}}', '2 https://example.org'],
    ['{{externalIds.anilist.id}} {{externalIds.[anilist].id}} {{externalIds.org.example.ids.id}}|{{externalIds.org.id}}', '1 1 2|'],
    ['{{series.externalIds.a.b.id}} {{series.externalIds.a.b.c.id}}', '4 5'],
    ['{{#each externalIds}}{{@key}}={{id}};{{/each}}', 'plugin:anilist=1;plugin:org.example.ids=2;comicinfo=3;'],
    [
      '{{customMetadata.snake_case}} {{customMetadata.[With Space]}} {{customMetadata.nested.deep.[1]}} {{customMetadata.snakeCase}}',
      '1 2 20 ',
    ],
    ['{{series.metadata.title}}', 'S'],
    ['{{metadata.summary}}|{{metadata.nothing}}|{{no.such.thing}}|{{metadata.year}}|{{metadata.manga}}', '|||0|false'],
    ['{{#each metadata.authors}}{{@index}}{{name}}{{#if role}}({{role}}){{/if}}{{#unless @last}}, {{/unless}}{{/each}}', '0A(writer), 1B'],
    ['{{#each metadata.authors as |person index|}}{{index}}{{person.name}}{{@root.type}}{{../type}}{{/each}}', '0Abookbook1Bbookbook'],
    ['{{#with series}}{{metadata.title}}{{../metadata.title}}{{/with}}', 'ST <&>'],
    ['{{#each metadata.none}}x{{else}}none{{/each}}{{#with metadata.none}}x{{else}}none{{/with}}', 'nonenone'],
    ['{{#metadata.authors}}{{name}}{{/metadata.authors}}{{^metadata.summary}}no summary{{/metadata.summary}}', 'ABno summary'],
    ['{{! a comment }}{{!-- another --}}a{{~ type ~}} b', 'abookb'],
    ['{{#if (and (exists metadata.year) (lt metadata.year 5))}}{{uppercase (default metadata.summary "none")}}{{/if}}', 'NONE'],
    ['', ''],
    ['no fields', 'no fields'],
    ['\\{{type}} 😀 {{type}}', '{{type}} 😀 book'],
  ]
  for (const [template, output] of table) t.equal(await render(template, context), output, template)
})

t.test('a batch of contexts, each with its own outcome', async (t) => {
  const contexts = Array.from({ length: 2_500 }, (_, n) => ({ metadata: { title: `Book ${n}`, summary: 'x'.repeat(n % 7) } }))
  const rendered = await templates.renderMany('{{metadata.title}} {{length metadata.summary}}', contexts)
  t.equal(rendered.length, 2_500)
  t.same(rendered[2_499], { output: `Book 2499 ${2_499 % 7}` })
  t.same(await templates.renderMany('{{type}}', []), [])
  const long = { metadata: { genres: Array.from({ length: 3_000 }, () => 'x'.repeat(100)) } }
  const mixed = await templates.renderMany('{{metadata.genres}}', [{ metadata: { genres: ['a'] } }, long, { metadata: { genres: ['b'] } }])
  t.match(mixed, [{ output: 'a' }, { error: { code: 'output_too_long' } }, { output: 'b' }])
})

t.test('errors have a line and column', async (t) => {
  const table: [template: string, message: RegExp, line: number | null, column: number | null][] = [
    ['{{#if metadata.title}}x', /{{#if}} is not closed: {{\/if}} is missing/, 1, 1],
    ['one\n two {{#each metadata.authors}}x', /{{#each}} is not closed/, 2, 6],
    ['{{/if}}', /closes nothing/, 1, 1],
    ['{{#if a}}{{/each}}', /{{\/each}} does not close {{#if}}/, 1, 10],
    ['ab {{metadata.title', /{{ is not closed: }} is missing/, 1, 4],
    ['ab\n{{shout metadata.title}}', /Unknown helper "shout"/, 2, 1],
    ['{{uppercase (shout x)}}', /Unknown helper "shout"/, 1, 13],
    ['{{> partial}}', /Partials are not available/, 1, 1],
    ['{{#> layout}}{{/layout}}', /Partials are not available/, 1, 1],
    ['{{#*inline "x"}}{{/inline}}', /Decorators/, 1, 1],
    ['{{* decorate}}', /Decorators/, 1, 1],
    ['{{#if}}x{{/if}}', /needs an argument/, 1, 1],
    ['{{"text" 1}}', /Only helpers/, 1, 1],
    ['{{metadata.genres.0}}', /must be in brackets/, 1, 19],
    ['{{metadata..title}}', /Unknown helper "metadata"/, 1, 1],
    ['{{#with}}{{/with}}', /needs an argument/, 1, 1],
    ['x'.repeat(64 * 1024 + 1), /the limit is 65536/, null, null],
    [`${'{{#if a}}'.repeat(60)}x${'{{/if}}'.repeat(60)}`, /nested deeper than 32/, 1, null],
    ['{{helperMissing 1}}', /Unknown helper/, 1, 1],
    ['{{#blockHelperMissing metadata}}{{/blockHelperMissing}}', /Unknown helper/, 1, 1],
    ['{{log "x"}}', /Unknown helper/, 1, 1],
  ]
  for (const [template, message, line, column] of table) {
    const read = await templates.read(template)
    if (!('error' in read)) return t.fail(`${template.slice(0, 60)} was accepted`)
    t.match(read.error.message, message, template.slice(0, 60))
    if (line !== null) t.equal(read.error.line, line, `line of ${template.slice(0, 60)}`)
    if (column !== null) t.equal(read.error.column, column, `column of ${template.slice(0, 60)}`)
    await t.rejects(templates.renderMany(template, [{}]), { code: 'invalid_value', details: [{ path: '/template' }] })
  }
})

t.test('prototypes and constructors are not accessible', async (t) => {
  const hostile = JSON.parse(
    '{"constructor":{"constructor":"own"},"__proto__":{"polluted":"own"},"toString":"own","hasOwnProperty":"own","metadata":{"title":"T","__proto__":{"x":1}},"list":[1]}',
  )
  const nothing = [
    '{{metadata.constructor}}',
    '{{metadata.constructor.constructor}}',
    '{{metadata.title.constructor}}',
    '{{metadata.__proto__.constructor}}',
    '{{metadata.toString}}{{metadata.valueOf}}{{metadata.__defineGetter__}}{{metadata.__lookupGetter__}}',
    '{{#with (lookup metadata "constructor")}}reached{{/with}}',
    '{{lookup metadata "__proto__"}}'.replace('metadata', 'list'),
    '{{lookup list "constructor"}}{{lookup metadata.title "constructor"}}{{lookup list "push"}}',
    '{{#with metadata as |m|}}{{#with (lookup m "constructor") as |c|}}{{c}}{{/with}}{{/with}}',
    '{{#each (split metadata.title ".constructor")}}{{constructor}}{{/each}}',
    '{{metadata.title.sub}}{{metadata.title.split.constructor}}{{list.push}}{{list.constructor.constructor}}',
    '{{@root.metadata.constructor}}{{@root.constructor.prototype}}',
    '{{#with @root}}{{metadata.constructor.name}}{{/with}}',
  ]
  for (const template of nothing) t.equal(await render(template, hostile), '', template)
  t.equal(
    await render('{{constructor.constructor}} {{toString}} {{hasOwnProperty}}', hostile),
    'own own own',
    'own members are ordinary data',
  )
  t.equal(await render('{{metadata.title}}', hostile), 'T')
  t.equal(await render('{{polluted}}{{metadata.polluted}}', {}), '', 'no prototype was changed')
  t.equal(await render('{{lookup this "constructor"}}', {}), '')
  // The parser would take an object instead of a text for its own syntax tree.
  for (const odd of [{ type: 'Program', body: [] }, ['x'], 7, null, undefined]) {
    await t.rejects(templates.renderMany(odd as unknown as string, [{}]), { code: 'invalid_value' })
  }
})

t.test('bombs are stopped within their budget, and the next template is rendered', async (t) => {
  const many = { list: Array.from({ length: 3_000 }, (_, n) => n), text: 'x'.repeat(60_000) }
  const nest = (depth: number, inner: string) => `${'{{#each @root.list}}'.repeat(depth)}${inner}${'{{/each}}'.repeat(depth)}`
  const bombs: [string, RegExp][] = [
    [nest(4, 'x'), /CPU time|too long|longer than/],
    [nest(3, '{{uppercase @root.text}}'), /longer than|CPU time/],
    [nest(2, '{{#if this}}{{/if}}'), /CPU time|too long/],
    ['{{replace text "x" text}}', /longer than/],
    ['{{#each list}}{{@root.text}}{{/each}}', /longer than/],
    ['{{join (split text "") text}}', /longer than|memory|CPU time/],
    ['{{urlencode (replace text "x" "😀")}}', /longer than/],
    ['{{#each list}}{{json @root}}{{/each}}', /longer than|CPU time/],
    [`{{${'uppercase ('.repeat(20)}uppercase text${')'.repeat(20)}}}`, /^$/],
  ]
  for (const [template, expected] of bombs) {
    const begun = performance.now()
    const outcome = await render(template, many)
    const tookMs = Math.round(performance.now() - begun)
    if (outcome.startsWith('!')) t.match(outcome, expected, `${template.slice(0, 60)}: ${outcome.slice(0, 80)} after ${tookMs} ms`)
    else t.ok(outcome.length <= 256 * 1024, `${template.slice(0, 60)} wrote ${outcome.length} characters in ${tookMs} ms`)
    // Long before its wall time is up, which is only a safeguard.
    t.ok(tookMs < 8_000, `stopped after ${tookMs} ms`)
    t.equal(await render('{{metadata.title}}'), 'the long way home')
  }
  t.equal((await render('{{padStart "x" 100000}}')).length, 1_000, 'a length argument is limited')
})

t.test('the used fields are reported by trace and by outline', async (t) => {
  t.same(
    await templates.trace(
      '{{metadata.title}} {{#each metadata.authors}}{{name}}{{nick}}{{/each}}{{metadata.publisher}}{{no.thing}}',
      EXAMPLE_CONTEXT,
    ),
    {
      output: 'the long way home Ann WriterBo Inker',
      usedPaths: [
        'metadata.title',
        'metadata.authors.0.name',
        'metadata.authors.0.nick',
        'metadata.authors.1.name',
        'metadata.authors.1.nick',
        'metadata.publisher',
        'no',
      ],
      missingPaths: ['metadata.authors.0.nick', 'metadata.authors.1.nick', 'metadata.publisher', 'no'],
    },
  )
  const outline = await templates.read(
    '{{#each metadata.authors as |a|}}{{a.name}}{{role}}{{../metadata.year}}{{@root.type}}{{/each}}\n{{#with series}}{{metadata.title}}{{/with}}{{lookup customMetadata metadata.title}}',
  )
  if ('error' in outline) return t.fail(outline.error.message)
  t.same(
    outline.paths.map(({ path, line }) => [path, line]),
    [
      ['metadata.authors', 1],
      ['metadata.authors[].name', 1],
      ['metadata.authors[].role', 1],
      ['metadata.year', 1],
      ['type', 1],
      ['series', 2],
      ['series.metadata.title', 2],
      ['customMetadata', 2],
      ['metadata.title', 2],
    ],
  )
  t.equal(outline.whole, false)
  for (const template of [
    '{{json this}}',
    '{{lookup this metadata.title}}',
    '{{#metadata.manga}}{{metadata.year}}{{/metadata.manga}}',
    '{{lookup @root "type"}}',
  ])
    t.match(await templates.read(template), { whole: true }, template)
  t.equal(await render('{{lookup @root "type"}}'), 'book')
  t.equal(
    await render('{{#each metadata.genres}}{{lookup @root.externalIds.[plugin:anilist] "id"}}{{/each}}'),
    '47114711',
    'the field exists',
  )
})

t.test('the budget of a template is CPU time, not waiting time', async (t) => {
  const spin = new Int32Array(new SharedArrayBuffer(4))
  const workers = Array.from(
    { length: 6 },
    () =>
      new Worker('const { workerData } = require("node:worker_threads"); while (Atomics.load(workerData, 0) === 0);', {
        eval: true,
        workerData: spin,
      }),
  )
  t.teardown(async () => {
    Atomics.store(spin, 0, 1)
    await Promise.all(workers.map((worker) => worker.terminate()))
  })
  for (const { examples } of HELPER_DOCS) for (const { template, output } of examples) t.equal(await render(template), output, template)
})
