import fc from 'fast-check'
import t, { type Test } from 'tap'
import { BUDGET, openGuests } from '#test/support/guests.ts'

t.setTimeout(240_000)

/** URLs from random parts, so that most are nearly valid. */
const address = fc
  .array(
    fc.constantFrom(
      ...[
        'https:',
        'http:',
        'ws:',
        'foo:',
        'file:',
        '//',
        '/',
        '\\',
        '///',
        '?',
        '#',
        '@',
        'user:pass@',
        'example.org',
        'EXAMPLE.org.',
        'bücher.example',
      ],
      ...[
        '日本.jp',
        '127.1',
        '0x7f.1',
        '2130706433',
        '1.2.3.256',
        '[::1]',
        '[1:2::8]',
        '[::ffff:1.2.3.4]',
        ':80',
        ':443',
        ':99999',
        ':',
        'a',
        'b c',
      ],
      ...[
        '%20',
        '%zz',
        '%2e',
        '..',
        '.',
        'x.y',
        'ü',
        '😀',
        '\ud800',
        "'",
        '"',
        '<',
        '^',
        '`',
        '{',
        '|',
        '~',
        '=',
        '&',
        '+',
        ' ',
        '\t',
        '\n',
        '\0',
        'C:',
      ],
      ...['straße', 'ＡＢ．ｃ', '。', 'localhost', ';', ',', '$', '!', '(', '*', ']', '['],
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))
const prefix = fc.constantFrom('', 'https://', 'http://', 'foo://', 'foo:', 'file://', 'https://example.org/')
const base = fc.constantFrom(null, 'https://u:p@host.example:81/a/b/c?q#f', 'foo://h/x/y', 'mailto:x', 'file:///d/e', 'foo:/p/q')
const MEMBERS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'] as const

const describe = (text: string, from: string | null) => {
  try {
    const url = new URL(text, from ?? undefined)
    return [...MEMBERS.map((name) => url[name]), String(url.searchParams), JSON.stringify([...url.searchParams])]
  } catch (error) {
    return (error as Error).name
  }
}

const change = (text: string, changes: readonly (readonly [string, string])[]) => {
  const url = new URL(text)
  for (const [name, value] of changes)
    try {
      url[name as 'href'] = value
    } catch {
      url.hash = 'refused'
    }
  return url.href
}

const openGuest = (t: Test, functions: string) => openGuests(t).open(functions, { memoryMbMax: 128, resultLengthMax: 5_000_000 })
const LONG = { cpuMs: 20_000, wallMs: 40_000 }

t.test('URLs are parsed, changed and serialized as in Node', async (t) => {
  const { call } = openGuest(
    t,
    `describe: (pairs) => { const describe = ${describe}; const MEMBERS = ${JSON.stringify(MEMBERS)}; return pairs.map(([text, from]) => describe(text, from)) },
    change: (cases) => { const change = ${change}; return cases.map(([text, changes]) => change(text, changes)) },
    search: (texts) => texts.map((text) => { const all = new URLSearchParams(text); all.append('k', text); all.sort(); return [all.toString(), all.size, all.get('k'), all.getAll('a'), all.has('a')] }),
    odd: () => { const url = new URL('https://example.org/x?a=1#h'); url.searchParams.set('b', 'ü'); url.searchParams.delete('a')
      return [url.href, JSON.stringify({ url }), URL.canParse('nonsense'), URL.canParse('/x', url), [...new URLSearchParams({ a: 1 }), ...new URLSearchParams([['b', 2]])],
        Object.prototype.toString.call(url), \`\${new URL('../y', url)}\`] }`,
  )
  const pairs = fc.sample(
    fc.tuple(
      fc.tuple(prefix, address).map((parts) => parts.join('')),
      base,
    ),
    { numRuns: 3_000, seed: 7 },
  )
  const described = (await call('describe', pairs, LONG)) as unknown[]
  const wrong = pairs.flatMap(([text, from], index) => {
    const expected = describe(text, from)
    return JSON.stringify(expected) === JSON.stringify(described[index]) ? [] : [{ text, from, expected, found: described[index] }]
  })
  t.same(wrong, [])
  t.ok(described.filter((one) => Array.isArray(one)).length > 1_000, 'many of them are valid URLs')

  const starts = fc.constantFrom('https://u:p@host.example:81/a/b/c?q#f', 'foo://h/x/y', 'mailto:x', 'foo:/p', 'http://a')
  const setters = fc.constantFrom('href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash')
  const cases = fc.sample(fc.tuple(starts, fc.array(fc.tuple(setters, address), { maxLength: 3 })), { numRuns: 2_000, seed: 8 })
  const changed = (await call('change', cases, LONG)) as string[]
  t.same(
    cases.flatMap(([text, changes], index) => (change(text, changes) === changed[index] ? [] : [{ text, changes, found: changed[index] }])),
    [],
  )

  // Next to an incomplete percent-encoding, Node itself truncates characters.
  const texts = fc
    .sample(
      fc.tuple(address, fc.constantFrom('', '&a=b', '=')).map((parts) => `a=1&${parts.join('')}`),
      { numRuns: 500, seed: 9 },
    )
    .filter((text) => !/%(?![0-9a-f]{2})/i.test(text))
  t.same(
    await call('search', texts, LONG),
    texts.map((text) => {
      const all = new URLSearchParams(text)
      all.append('k', text)
      all.sort()
      return [all.toString(), all.size, all.get('k'), all.getAll('a'), all.has('a')].map((one) =>
        typeof one === 'string' ? one.toWellFormed() : one,
      )
    }),
  )
  t.same(await call('odd'), [
    ...['https://example.org/x?b=%C3%BC#h', '{"url":"https://example.org/x?b=%C3%BC#h"}', false, true],
    [
      ['a', '1'],
      ['b', '2'],
    ],
    ...['[object URL]', 'https://example.org/y'],
  ])
})

t.test('text encoding and base64 are as in Node', async (t) => {
  const { call } = openGuest(
    t,
    `encode: (texts) => texts.map((text) => [...new TextEncoder().encode(text)]),
    decode: (lists) => lists.map((list) => new TextDecoder().decode(new Uint8Array(list))),
    fatal: (list) => { try { return new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(list)) } catch (error) { return error.name } },
    into: () => { const bytes = new Uint8Array(4); return [new TextEncoder().encodeInto('aü😀', bytes), [...bytes]] },
    labels: () => { try { return new TextDecoder('latin1').encoding } catch (error) { return error.name } },
    base: (texts) => texts.map((text) => [btoa(text), atob(btoa(text))]),
    atob: (texts) => texts.map((text) => { try { return atob(text) } catch (error) { return error.name } }),
    wide: () => { try { return btoa('ü😀') } catch (error) { return error.name } }`,
  )
  const texts = fc.sample(fc.string({ unit: fc.constantFrom('a', 'ü', '日', '😀', '\ud800', '\udc00', '\0', '\ufeff') }), {
    numRuns: 300,
    seed: 1,
  })
  t.same(
    await call('encode', texts, LONG),
    texts.map((text) => [...new TextEncoder().encode(text)]),
  )
  const edges = [
    0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff, 0xbb,
  ]
  const lists = fc.sample(fc.array(fc.constantFrom(...edges), { maxLength: 8 }), { numRuns: 2_000, seed: 2 })
  t.same(
    await call('decode', lists, LONG),
    lists.map((list) => new TextDecoder().decode(new Uint8Array(list))),
  )
  t.equal(await call('fatal', [0x61, 0xc3]), 'TypeError')
  t.equal(await call('fatal', [0xef, 0xbb, 0xbf, 0x61]), 'a')
  t.same(await call('into'), [{ read: 2, written: 3 }, [0x61, 0xc3, 0xbc, 0]])
  t.equal(await call('labels'), 'RangeError')
  const latin = fc.sample(fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }), {
    numRuns: 200,
    seed: 3,
  })
  t.same(
    await call('base', latin, LONG),
    latin.map((text) => [btoa(text), text]),
  )
  const encoded = fc.sample(fc.string({ unit: fc.constantFrom('A', 'z', '9', '+', '/', '=', ' ', '-', '\n') }), { numRuns: 500, seed: 4 })
  t.same(
    await call('atob', encoded, LONG),
    encoded.map((text) => {
      try {
        return atob(text)
      } catch (error) {
        return (error as Error).name
      }
    }),
  )
  t.equal(await call('wide'), 'InvalidCharacterError')
})

t.test('structured clones are deep, keep cycles, and refuse uncloneable values', async (t) => {
  const { call } = openGuest(
    t,
    `copies: () => { const one = { at: new Date(5), list: [1, , 3], map: new Map([['a', new Set([1])]]), re: /x/gi, bytes: new Uint8Array([1, 2]).subarray(1), big: 5n, error: new RangeError('no') }
      one.self = one
      const copy = structuredClone(one)
      copy.bytes[0] = 9
      return [copy !== one, copy.self === copy, copy.at.getTime(), 1 in copy.list, [...copy.map.get('a')], String(copy.re), one.bytes[0], copy.bytes[0], String(copy.big), copy.error instanceof RangeError, copy.error.message] },
    refused: () => [() => {}, Symbol('x'), { f() {} }, new WeakMap(), Promise.resolve()].map((value) => { try { structuredClone(value); return 'copied' } catch (error) { return error.name } }),
    proto: () => { const copy = structuredClone(JSON.parse('{"__proto__":{"x":1}}')); return [copy.x === undefined, Object.hasOwn(copy, '__proto__'), ({}).x === undefined] }`,
  )
  t.same(await call('copies'), [true, true, 5, false, [1], '/x/gi', 2, 9, '5', true, 'no'])
  t.same(await call('refused'), Array(5).fill('DataCloneError'))
  t.same(await call('proto'), [true, true, true])
})

t.test('timers are limited and end with their call', async (t) => {
  const { call, fails } = openGuest(
    t,
    `later: async (ms) => { const begun = Date.now(); const got = await new Promise((resolve) => setTimeout((a, b) => resolve(a + b), ms, 1, 2)); return [got, Date.now() - begun] },
    cleared: async () => { let ran = false; clearTimeout(setTimeout(() => { ran = true }, 5)); clearTimeout(undefined); clearTimeout(99); await new Promise((resolve) => setTimeout(resolve, 40)); return ran },
    // Never waited for: it is only counted.
    many: () => { let set = 0; try { for (;;) { setTimeout(() => {}, 10_000); set += 1 } } catch (error) { return [set, error.name] } },
    leaves: () => { setTimeout(() => { left = true }, 30); return 'gone' }, left: async () => { await new Promise((resolve) => setTimeout(resolve, 80)); return left },
    order: async () => { const seen = []; queueMicrotask(() => seen.push('micro')); setTimeout(() => seen.push('timer'), 0); seen.push('now'); await new Promise((resolve) => setTimeout(resolve, 30)); return seen },
    // For so long the ticks are counted.
    again: () => new Promise((resolve) => { let times = 0; const tick = () => { times += 1; setTimeout(tick, 0) }; setTimeout(() => resolve(times), 300); tick() }),
    throws: async () => { setTimeout(() => { throw new Error('mine') }, 0); await new Promise((resolve) => setTimeout(resolve, 30)); return 'unhurt' },
    loops: async () => { setTimeout(() => { for (;;); }, 0); await new Promise(() => {}) },
    forever: () => new Promise((resolve) => setTimeout(resolve, Infinity)),
    handler: () => { try { setTimeout('left = true', 0) } catch (error) { return error.name } }`,
  )
  const [sum, tookMs] = (await call('later', 50)) as [number, number]
  t.equal(sum, 3)
  t.ok(tookMs >= 45, `${tookMs} ms`)
  t.equal(await call('cleared'), false)
  t.same(await call('many'), [16, 'RangeError'])
  t.same(await call('many'), [16, 'RangeError'], 'the timers of the last call have ended')
  t.equal(await call('leaves'), 'gone')
  t.match(await fails('left'), { code: 'thrown', message: /left is not defined/ }, 'it never ran')
  t.same(await call('order'), ['now', 'micro', 'timer'])
  let times = (await call('again')) as number
  // On a busy machine the runner may stand still for the whole time.
  for (let tries = 1; tries < 3 && times <= 5; tries++) times = (await call('again')) as number
  t.ok(times > 5 && times <= 76, `${times} in 0.3 s: one that is due at once waits for four milliseconds`)
  t.match(await fails('throws'), { code: 'thrown', message: /mine/ }, 'an error in a timer fails its call')
  t.equal(await call('handler'), 'TypeError', 'strings are not executed')
  t.match(await fails('loops', null, BUDGET), { code: /cpu|timeout/ })
  t.match(await fails('forever', null, { cpuMs: 100, wallMs: 300 }), { code: 'timeout' })

  const loading = openGuests(t).open('', {}, 'setTimeout(() => {}, 1)')
  t.match(await loading.fails('echo'), { code: 'load', message: /only during a call/ })
})

t.test('signals report aborts and the end of a call', async (t) => {
  const { call } = openGuest(
    t,
    `own: () => { const seen = []; const it = new AbortController(); it.signal.addEventListener('abort', (event) => seen.push(event.type)); it.signal.onabort = () => { throw new Error('mine') }
      it.abort('why'); it.abort('again'); try { it.signal.throwIfAborted() } catch (error) { seen.push(error) }
      return [...seen, it.signal.aborted, it.signal.reason, AbortSignal.abort().reason.name] },
    made: () => { try { new AbortSignal(); return 'made' } catch (error) { return error.name } },
    timeout: async () => { const signal = AbortSignal.timeout(20); await new Promise((resolve) => signal.addEventListener('abort', resolve)); return signal.reason.name },
    any: () => { const it = new AbortController(); const signal = AbortSignal.any([it.signal, new AbortController().signal]); it.abort('one'); return signal.reason },
    fetches: async (_, ctx) => { const it = new AbortController(); const asked = ctx.fetch('https://example.org/', { signal: it.signal }); it.abort(new Error('enough'))
      const late = ctx.fetch('https://example.org/', { signal: it.signal })
      return [await asked.catch((error) => error.message), await late.catch((error) => error.message)] },
    keeps: (_, ctx) => { kept = ctx.signal; return kept.aborted }, kept: () => [kept.aborted, kept.reason.code],
    same: (_, ctx) => ctx.signal === ctx.signal`,
  )
  const { call: keeping } = openGuests(t).open(
    `keeps: (_, ctx) => { kept = ctx.signal; return kept.aborted }, kept: () => [kept.aborted, kept.reason.code]`,
    {},
    'let kept',
  )
  t.same(await call('own'), ['abort', 'why', true, 'why', 'AbortError'])
  t.equal(await call('made'), 'TypeError')
  t.equal(await call('timeout'), 'TimeoutError')
  t.equal(await call('any'), 'one')
  t.same(await call('fetches', null, BUDGET, { onRequest: () => new Promise(() => {}) }), ['enough', 'enough'])
  t.equal(await call('same'), true)
  t.equal(await keeping('keeps'), false)
  t.same(await keeping('kept'), [true, 'closed'])
})

t.test('requests accept every form of arguments that fetch does', async (t) => {
  const { call } = openGuest(
    t,
    `send: async (_, ctx) => { const options = [undefined, { headers: [['A', '1']] }, { headers: new Map([['b', '2']]) }, { method: 'POST', body: new URLSearchParams({ q: 'ü' }) },
        { method: 'POST', body: new URLSearchParams('x'), headers: { 'Content-Type': 'text/plain' } }]
      for (const one of options) await ctx.fetch(new URL('https://example.org/x'), one) },
    answer: async (_, ctx) => { const { headers } = await ctx.fetch('https://example.org/'); const seen = []; headers.forEach((value, name) => seen.push(name + value)); return [headers.get('CONTENT-type'), headers.has('x'), [...headers], seen] }`,
  )
  const asked: unknown[] = []
  const onRequest = async (_kind: string, payload: unknown) => {
    asked.push(payload)
    return { status: 200, url: 'https://example.org/', headers: [['content-type', 'text/html']], body: '' }
  }
  await call('send', null, BUDGET, { onRequest })
  const form = 'application/x-www-form-urlencoded;charset=UTF-8'
  t.match(asked, [
    { url: 'https://example.org/x', method: 'GET', headers: {} },
    { headers: { A: '1' } },
    { headers: { b: '2' } },
    { body: 'q=%C3%BC', headers: { 'content-type': form } },
    { body: 'x=', headers: { 'content-type': 'text/plain' } },
  ])
  t.same(await call('answer', null, BUDGET, { onRequest }), [
    'text/html',
    false,
    [['content-type', 'text/html']],
    ['content-typetext/html'],
  ])
})
