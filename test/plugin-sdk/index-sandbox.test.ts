import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { openHostedPlugins } from '#test/support/hosted-plugins.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { bundle, compile, filesOf, placeSdk, SDK_FOLDER, writeFiles } from '#test/support/sdk-install.ts'

t.setTimeout(60_000)

/** Uses every declared global in every declared way: the results here and in a sandbox must be equal. */
const LOOK = `
export async function look(): Promise<string[]> {
  const seen: string[] = []
  const see = (...values: unknown[]) => void seen.push(values.map((value) => JSON.stringify(value) ?? String(value)).join(' '))
  const fails = (run: () => unknown): string => {
    try {
      return 'no: ' + String(run())
    } catch (error) {
      return (error as Error).name
    }
  }
  await new Promise<void>((resolve) => setTimeout(resolve, 5))
  const order: string[] = []
  const never = setTimeout(() => order.push('never'), 20)
  await new Promise<void>((resolve) => {
    setTimeout((a: string, b: number) => { order.push(a + b); resolve() }, 30, 'x', 1)
    queueMicrotask(() => order.push('first'))
    clearTimeout(never)
    clearTimeout(undefined)
  })
  see(order)

  see(atob(' aMOpbGxv '), btoa('h\\u00e9llo'), btoa(''), fails(() => atob('a')), fails(() => btoa('\\u0100')))
  const given = { at: new Date(0), list: [1, , 3], map: new Map([['a', new Set([1])]]), pattern: /x/gi, bytes: new Uint8Array([1, 2]), own: null as unknown }
  given.own = given
  const copy = structuredClone(given)
  see(copy !== given, copy.own === copy, copy.at.getTime(), copy.list.length, copy.map.get('a')?.has(1), String(copy.pattern), [...copy.bytes])
  see(fails(() => structuredClone({ run: () => 1 })))

  const params = new URLSearchParams('?b=2&a=1&a=%20+')
  params.append('c', '\\u00e9&=')
  params.set('b', '3')
  params.delete('c', 'other')
  params.sort()
  see(params.toString(), params.get('a'), params.getAll('a'), params.has('a', '1'), params.has('z'), params.get('z'), params.size)
  const pairs: string[] = []
  params.forEach((value, name) => pairs.push(name + ':' + value))
  see(pairs, [...params], [...params.keys()], [...params.values()], [...params.entries()])
  see(new URLSearchParams({ q: 'x y' }).toString(), new URLSearchParams([['q', 'z']]).toString(), new URLSearchParams(params).toString())

  const url = new URL('../b/./c?x=1#y', 'https://user:pass@Example.org:8443/a/b/')
  see(url.href, url.origin, url.protocol, url.username, url.password, url.host, url.hostname, url.port, url.pathname, url.search, url.hash)
  url.searchParams.append('q', '\\u00e4 \\u00f6')
  url.hash = ''
  url.port = '443'
  url.username = url.password = ''
  url.pathname = '/\\u00fc b'
  url.hostname = 'b\\u00fccher.example'
  see(url.href, String(url), JSON.stringify({ url }), url.toJSON() === url.toString())
  see(URL.canParse('x'), URL.canParse('x', 'https://a.b'), URL.parse('x'), URL.parse('https://a.b/c')?.pathname, fails(() => new URL('x')))
  see(['https://a/%2e/b/../c', 'HTTP://A:80', 'https://1.2.3', 'https://[::1]:80/', 'data:text/plain,x', 'https://a b/'].map((text) => URL.parse(text)?.href ?? null))

  const encoder = new TextEncoder()
  see(encoder.encoding, [...encoder.encode('\\u20ac\\u{1f600}x\\ud800')], [...encoder.encode()], encoder.encodeInto('\\u20acx', new Uint8Array(3)))
  const decoder = new TextDecoder('utf-8', { fatal: true })
  see(decoder.encoding, decoder.fatal, decoder.ignoreBOM, decoder.decode(encoder.encode('\\ufeff\\u20ac\\u{1f600}')), decoder.decode())
  see(new TextDecoder().decode(new Uint8Array([0xe2, 0x82, 0x41, 0xff])), fails(() => decoder.decode(new Uint8Array([0xff]))))
  see(new TextDecoder().decode(new Uint8Array([65, 66]).buffer), new TextDecoder().decode(new DataView(new ArrayBuffer(1))))

  const controller = new AbortController()
  const heard: unknown[] = []
  const silent = () => heard.push('silent')
  controller.signal.addEventListener('abort', () => heard.push('one'))
  controller.signal.addEventListener('abort', silent)
  controller.signal.removeEventListener('abort', silent)
  controller.signal.onabort = ({ type, target }) => heard.push(type, target === controller.signal)
  see(controller.signal.aborted, controller.signal.reason)
  controller.abort(new DOMException('enough', 'TooMuch'))
  controller.abort('again')
  see([...heard].sort(), controller.signal.aborted, fails(() => controller.signal.throwIfAborted()))
  see((AbortSignal.abort().reason as Error).name, AbortSignal.any([new AbortController().signal, AbortSignal.abort(1)]).reason)
  const late = AbortSignal.timeout(5)
  await new Promise<void>((resolve) => setTimeout(resolve, 40))
  see(late.aborted, (late.reason as Error).name)
  const error = new DOMException('x', 'Y')
  see(error instanceof Error, error.name, error.message)

  const headers = new Headers({ 'X-B': 'two', a: '1' })
  headers.append('x-b', '3')
  headers.set('c', '4')
  headers.delete('A')
  const named: string[] = []
  headers.forEach((value, name) => named.push(name + value))
  see([...headers], [...headers.keys()], [...headers.values()], [...headers.entries()], named)
  see(headers.get('X-b'), headers.has('a'), headers.getSetCookie(), fails(() => headers.get('a b')))

  const form = new FormData()
  form.append('a', '1')
  form.append('a', '2')
  form.set('b', '3')
  form.delete('none')
  form.forEach((value, name) => named.push(name + value))
  see([...form], form.get('a'), form.getAll('a'), form.has('c'), [...form.keys()], [...form.values()], [...form.entries()], named)

  const request = new Request('https://example.org/a', { method: 'POST', body: 'text', headers, signal: controller.signal })
  see(request.url, request.method, [...request.headers], request.redirect, request.signal.aborted, request.bodyUsed)
  see(await request.clone().text(), [...new Uint8Array(await request.arrayBuffer())], request.bodyUsed)
  const response = new Response('{"a":1}', { status: 201, statusText: 'Made', headers: { x: 'y' } })
  see(response.ok, response.status, response.statusText, response.url, response.redirected, response.type, [...response.headers])
  see(await response.clone().json<{ a: number }>(), [...(await response.clone().bytes())])
  const { body } = response
  if (body === null) throw new Error('no body')
  const reader = body.getReader()
  const { done, value } = await reader.read()
  see(done, value?.length, body.locked, (await reader.read()).done, await reader.closed, response.bodyUsed)
  reader.releaseLock()
  see(body.locked)
  await new Response('x').body?.getReader().cancel()
  await new Response('x').body?.cancel()
  for await (const piece of new Response('ab').body ?? []) see(piece.length)
  see(Response.json([1]).headers.get('content-type'), Response.error().status, new Response(null).body)
  return seen
}
`

const PLUGIN = `
import { definePlugin } from '@carrel/plugin-sdk'
import { parseHtml } from '@carrel/plugin-sdk/html'
import { parseXml } from '@carrel/plugin-sdk/xml'
import { look } from './look'

const answer = (titles: string[]) => ({ results: titles.map((title, index) => ({ externalId: String(index), title })) })

export default definePlugin({
  metadata: {
    series: {
      async search({ query, limit }, ctx) {
        if (query === 'look') return answer(await look())
        if (query === 'html') {
          const page = parseHtml('<ul>' + '<li class=a>Caf&eacute; <b>x</b>'.repeat(limit) + '</ul>')
          return answer([String(page.select('li.a > b').length), page.first('li')?.text ?? '', String(page.text.length)])
        }
        if (query === 'xml') {
          const feed = parseXml('<feed>' + '<entry n="1"><title>a &amp; b</title></entry>'.repeat(limit) + '</feed>')
          return answer([String(feed.all('entry').length), feed.first('entry', 'title')?.text ?? '', String(feed.text.length)])
        }
        ctx.log.warn('asked for ' + query)
        return answer([])
      },
      get: ({ externalId }) => ({ externalId }),
    },
  },
})
`

t.test('declared globals behave in the sandbox as elsewhere, and the parsers run there within the limits', async (t) => {
  const folder = await placeSdk(t)
  await writeFiles(folder, [
    ['tsconfig.json', (await filesOf('plugin-sdk/README.md')).get('tsconfig.json') as string],
    ['src/look.ts', LOOK],
    ['src/main.ts', PLUGIN],
  ])
  await compile(folder)
  await writeFile(path.join(folder, 'look.mjs'), await bundle(folder, 'src/look.ts'))
  const { look } = (await import(pathToFileURL(path.join(folder, 'look.mjs')).href)) as { look(): Promise<string[]> }

  const { install } = await openHostedPlugins(t)
  const code = await bundle(folder)
  t.ok(code.length < 500_000, `a bundle with both parsers has ${code.length} characters`)
  const { call } = await install(pluginOf(code))
  const titles = async (query: string, limit = 1) => {
    const { results } = await call('metadata.series.search', { query, limit })
    return (results as { title: string }[]).map(({ title }) => title)
  }
  // The server joins the spaces of a title.
  const joined = (texts: readonly string[]) => texts.map((text) => text.replace(/ {2,}/g, ' ').trim())
  t.same(await titles('look'), joined(await look()))
  t.same(await titles('html', 1_500), ['1500', 'Café x', String('Café x\n'.length * 1_500 - 1)])
  t.same(await titles('xml', 1_000), ['1000', 'a & b', String('a & b'.length * 1_000)])
})

t.test('every declared name is used above', async (t) => {
  const declared = await readFile(path.join(SDK_FOLDER, 'globals.d.ts'), 'utf8')
  const names = [...declared.matchAll(/^declare (?:var|function) (\w+)/gm)].map(([, name = '']) => name)
  t.ok(names.length >= 12)
  for (const name of names) t.match(LOOK, new RegExp(`\\b${name}\\b`), name)
  const members = [...declared.matchAll(/^ {2}(?:readonly )?(\w+)[(:?]/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'prototype')
  t.ok(members.length >= 40)
  for (const name of members) t.match(LOOK, new RegExp(`\\.${name}\\b|\\b${name}[,(]|{ type, target }`), name)
})
