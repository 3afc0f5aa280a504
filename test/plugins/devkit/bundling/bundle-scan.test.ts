import t from 'tap'
import { scanBundle, splitTexts } from '#plugins/devkit/bundling/bundle-scan.ts'

t.test('literals are separated from code, comments and regular expressions', async (t) => {
  const code =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template in the scanned code
    'const a="one",b=\'t\\x77o\',c=`three ${a+`four ${b}`} five`,d=/"not a text"[/"]/.test(a)?1/2/3:x/y,e={f:"six"};return/"nor this"/'
  const { literals, bare } = splitTexts(code)
  t.same(literals, ['one', 'two', 'three ', 'four ', '', ' five', 'six'])
  t.equal(bare.length, code.length)
  t.notMatch(bare, /one|three|text|this/)
  t.match(bare, 'e={f:     };return')
})

t.test('only unbound names are global', async (t) => {
  const { globals, imports, literals } = await scanBundle(
    `function own(process) { return process.env }
    const object = { fetch: 1, setTimeout() {} }
    object.fetch; object.setTimeout()
    const has = typeof Buffer === 'undefined' ? null : Buffer.from('x')
    globalThis.localStorage.clear()
    console.log('https://a.example.org/' + 'path') // https://in.a.comment/
    import('node:fs'); import dns from 'node:dns'
    export default { own, has, dns }`,
    ['process', 'fetch', 'setTimeout', 'Buffer', 'localStorage', 'console'],
  )
  t.same(
    globals.map(({ name, isTested, line }) => [name, isTested, line?.line]),
    [
      ['Buffer', true, 4],
      ['Buffer', false, 4],
      ['localStorage', false, 5],
      ['console', false, 6],
    ],
  )
  t.same(imports.sort(), ['node:dns', 'node:fs'])
  t.ok(literals.includes('https://a.example.org/path'), 'concatenated texts are joined')
  t.notOk(literals.some((text) => text.includes('comment')))
  await t.rejects(scanBundle('this is not code', []), /Expected/)
})
