import t, { type Test } from 'tap'
import { BUDGET, openGuests } from '#test/support/guests.ts'

t.setTimeout(60_000)

const openGuest = (t: Test, functions: string) => openGuests(t).open(functions, { memoryMbMax: 128, resultLengthMax: 5_000_000 })

t.test('Headers, Request, Response and FormData behave as in Node', async (t) => {
  /** The result of each expression, or that it throws; run here and in the sandbox. */
  const LOOK = `async () => {
    const seen = []
    const look = async (what) => {
      try { seen.push(await what()) } catch (error) { seen.push(error instanceof Error ? 'throws ' + error.name : 'throws') }
    }
    const rest = { 'X-B': ' two ', 'x-a': 'one' }
    await look(() => [...new Headers(rest)])
    await look(() => [...new Headers([['b', '1'], ['B', '2'], ['a', '']])])
    await look(() => [...new Headers(new Headers(rest)).keys(), ...new Headers(rest).values(), new Headers(rest).get('nothing')])
    await look(() => { const all = new Headers(rest); all.append('x-b', '3'); all.set('x-c', '4'); all.delete('X-A'); return [...all.entries(), all.has('x-a'), all.has('X-C')] })
    await look(() => { const told = []; new Headers(rest).forEach((value, name, all) => told.push(name, value, all instanceof Headers)); return told })
    for (const wrong of [{ 'a b': '1' }, { a: 'x\\ny' }, { a: '日' }, [['a']], [['a', 'b', 'c']], 'text', 5]) await look(() => [...new Headers(wrong)])
    await look(() => new Headers().getSetCookie())
    await look(() => String(new Headers()) + String(new Request('https://x.org/')) + String(new Response()) + String(new FormData()))

    const post = { method: 'post', body: 'text', headers: { 'X-A': '1' } }
    const of = async (one) => [one.url, one.method, [...one.headers], one.body === null, one.bodyUsed, await one.text(), one.bodyUsed, one.redirect]
    await look(() => of(new Request('HTTPS://EXAMPLE.org/a b?q=ü')))
    await look(() => of(new Request(new URL('https://example.org'), post)))
    await look(() => of(new Request(new Request('https://example.org/', post), { method: 'PUT' })))
    await look(() => of(new Request(new Request('https://example.org/', post), { body: new URLSearchParams({ a: 'b c' }) })))
    await look(() => of(new Request('https://example.org/', { ...post, headers: { 'content-type': 'x/y' } })))
    await look(() => of(new Request('https://example.org/', { ...post, method: 'patch' })))
    await look(() => of(new Request('https://example.org/', post).clone()))
    for (const wrong of [['relative'], ['https://x.org/', { body: 'x' }], ['https://x.org/', { method: 'HEAD', body: '' }], ['https://x.org/', { method: 'a b' }], []])
      await look(() => of(new Request(...wrong)))
    await look(() => { const control = new AbortController(); const one = new Request('https://x.org/', { signal: control.signal }); const before = one.signal.aborted; control.abort(); return [before, one.signal.aborted, new Request('https://x.org/').signal.aborted] })

    const told = async (one) => [one.status, one.ok, one.statusText, [...one.headers], one.url, one.redirected, one.type, one.body === null, await one.text()]
    await look(() => told(new Response()))
    await look(() => told(new Response('text', { status: 404, statusText: 'None', headers: { a: 'b' } })))
    await look(() => told(new Response(new TextEncoder().encode('zażółć'))))
    await look(() => told(new Response(null, { status: 204 })))
    await look(() => told(Response.json({ a: [1] }, { status: 201 })))
    await look(() => told(Response.error()))
    await look(() => told(new Response('text', { headers: rest }).clone()))
    for (const wrong of [['x', { status: 204 }], ['', { status: 100 }], ['', { status: 600 }], ['', { headers: { 'a b': 'c' } }]]) await look(() => told(new Response(...wrong)))
    await look(() => new Response('{"a":1}').json())
    await look(() => new Response('{').json())
    await look(async () => [...new Uint8Array(await new Response('ü').arrayBuffer())])
    await look(async () => [...(await new Response('ü').bytes())])
    await look(async () => { const pieces = []; for await (const piece of new Response('two words').body) pieces.push(new TextDecoder().decode(piece)); return pieces.join('') })
    await look(async () => { const one = new Response('text'); const reader = one.body.getReader(); const { value, done } = await reader.read(); return [new TextDecoder().decode(value), done, (await reader.read()).done, one.bodyUsed, one.body.locked] })
    await look(async () => { const one = new Response('text'); one.body.getReader(); one.body.getReader() })
    await look(async () => { const one = new Response('text'); await one.body.cancel(); return one.body === null })
    await look(async () => (await new Response(new Response('again').body).text()))

    const form = new FormData()
    form.append('a', '1'); form.append('b', 'x\\ny'); form.append('a', 2)
    await look(() => [[...form], form.get('a'), form.getAll('a'), form.has('c'), form.get('c')])
    form.set('a', '3'); form.delete('b')
    await look(() => [[...form.keys()], [...form.values()]])
    await look(async () => { form.append('q"', 'l1\\nl2'); const { headers, body } = new Request('https://x.org/', { method: 'POST', body: form }); const [, mark] = /boundary=(.*)$/.exec(headers.get('content-type')); return (await new Response(body).text()).replaceAll(mark, 'MARK') })
    return seen
  }`
  const { call } = openGuest(t, `look: ${LOOK}`)
  const here = (await new Function(`return (${LOOK})()`)()) as unknown[]
  const there = (await call('look', null, BUDGET)) as unknown[]
  t.equal(there.length, here.length)
  for (const [index, expected] of JSON.parse(JSON.stringify(here)).entries()) t.same(there[index], expected, `expression ${index}`)
})

t.test('requests that the server cannot send are refused, and a body can be read twice', async (t) => {
  const { call } = openGuest(
    t,
    `send: async (_, ctx) => {
      const said = []
      const failed = async (...given) => { try { await ctx.fetch(...given); said.push('sent') } catch (error) { said.push(error.name + ': ' + error.message) } }
      await failed(new Request('https://example.org/', { redirect: 'manual' }))
      await failed('https://example.org/', { redirect: 'error' })
      await failed('https://example.org/', { method: 'POST', body: new Uint8Array([0xff]) })
      await failed(new Request('https://example.org/', { method: 'POST', body: 'b', headers: { 'X-A': '1' } }), { timeoutMs: 5 })
      await failed(new Request('https://example.org/', { signal: AbortSignal.abort(new Error('gone')) }))
      const answer = await ctx.fetch('https://example.org/')
      return [said, await answer.text(), await answer.text(), await answer.clone().text(), answer instanceof Response, answer.retryAfterSeconds]
    }`,
  )
  const asked: unknown[] = []
  const onRequest = async (_kind: string, payload: unknown) => {
    asked.push(payload)
    return { status: 200, url: 'https://example.org/', headers: [], body: 'text', retryAfterSeconds: 7 }
  }
  t.same(await call('send', null, BUDGET, { onRequest }), [
    [
      ...Array(2).fill('TypeError: The server follows redirects, but only to hosts of the manifest: "redirect" must be "follow".'),
      'TypeError: A body must be a text, but these bytes are not UTF-8.',
      'sent',
      'Error: gone',
    ],
    ...['text', 'text', 'text', true, 7],
  ])
  t.match(asked[0], { method: 'POST', body: 'b', timeoutMs: 5, headers: { 'x-a': '1', 'content-type': 'text/plain;charset=UTF-8' } })
  t.equal(asked.length, 2)
})
