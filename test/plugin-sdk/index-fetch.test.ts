import { symlink } from 'node:fs/promises'
import type { IncomingMessage, RequestListener } from 'node:http'
import path from 'node:path'
import t from 'tap'
import { bundleProject } from '#plugins/devkit/bundling/bundle.ts'
import { readValidProject } from '#plugins/devkit/project.ts'
import { validateWith } from '#plugins/devkit/validate.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openTestHost } from '#test/support/plugin-hosts.ts'
import { openPluginFolder } from '#test/support/plugin-projects.ts'
import { compile, filesOf, placeSdk, writeFiles } from '#test/support/sdk-install.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

/** Sends requests with unmodified libraries from the registry; none of them supports plugins specially. */
const CLIENTS = `import { definePlugin } from '@carrel/plugin-sdk'
import ky, { HTTPError } from 'ky'
import { chunk, groupBy, kebabCase, merge, template } from 'lodash-es'
import { createFetch, FetchError } from 'ofetch'

export default definePlugin({
  metadata: {
    series: {
      async search({ query }, ctx) {
        const api = ky.create({ fetch: ctx.fetch, prefix: 'https://api.example.org', timeout: 5000, headers: { 'x-client': 'ky' }, retry: { limit: 2, delay: () => 1 } })
        const $fetch = createFetch({ fetch: ctx.fetch, defaults: { baseURL: 'https://api.example.org', headers: { 'x-client': 'ofetch' } } })
        const failed = async (work: Promise<unknown>) => {
          try {
            return { answered: await work }
          } catch (error) {
            const { name, message, code, cause } = error as { name: string; message: string; code?: string; cause?: { code?: string } }
            const { response } = error as { response?: { status: number } }
            const data = error instanceof HTTPError || error instanceof FetchError ? error.data : undefined
            return { name, message, code: code ?? cause?.code, status: response?.status, data }
          }
        }
        const steps: Record<string, () => Promise<unknown>> = {
          'ky get': () => api.get('echo', { searchParams: { q: 'a b' } }).json(),
          'ky post': () => api.post('echo', { json: { title: 'Dune' } }).json(),
          'ky form': () => api.put('echo', { body: new URLSearchParams({ a: 'b c' }) }).json(),
          'ky text': () => api.get('echo').text(),
          'ky hooks': async () => {
            const seen: string[] = []
            const hooked = api.extend({ hooks: {
              beforeRequest: [({ request }) => void request.headers.set('x-hook', 'yes')],
              afterResponse: [async ({ response }) => void seen.push(String(response.status) + ' ' + String((await response.text()).length > 0))],
            } })
            return { seen, answer: await hooked.get('echo').json() }
          },
          'ky again': () => api.get('busy-once?by=ky').json(),
          'ky failure': () => failed(api.get('missing').json()),
          'ky elsewhere': () => failed(ky.create({ fetch: ctx.fetch }).get('https://evil.com/').json()),
          'ky timeout': () => failed(api.get('slow', { timeout: 50, retry: 0 }).json()),
          'ofetch get': () => $fetch('/echo', { query: { q: 'a b' } }),
          'ofetch post': () => $fetch('/echo', { method: 'POST', body: { title: 'Dune' } }),
          'ofetch raw': async () => {
            const { status, headers, _data } = await $fetch.raw('/plain', { responseType: 'text' })
            return { status, type: headers.get('Content-Type'), _data }
          },
          'ofetch bytes': async () => new TextDecoder().decode(await $fetch('/plain', { responseType: 'arrayBuffer' })),
          'ofetch again': () => $fetch('/busy-once?by=ofetch'),
          'ofetch failure': () => failed($fetch('/missing')),
          'ofetch elsewhere': () => failed($fetch('https://evil.com/', { retry: 0 })),
          'ofetch timeout': () => failed($fetch('/slow', { timeout: 50, retry: 0 })),
          lodash: async () => [chunk([1, 2, 3], 2), groupBy(['a', 'bb'], 'length'), kebabCase('One Piece'), merge({ a: { b: 1 } }, { a: { c: 2 } }), template('<%= a %>')({ a: 1 })],
        }
        const step = steps[query]
        return { results: [{ externalId: '1', title: JSON.stringify(step === undefined ? Object.keys(steps) : await step()) }] }
      },
      get: () => ({ externalId: '1' }),
    },
  },
})
`
const METHODS = ['GET', 'POST', 'PUT']
const PERMISSIONS = { permissions: { network: [{ host: 'api.example.org', methods: METHODS, reason: 'The service' }] } }

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

function openService(): RequestListener {
  const busy = new Set<string>()
  return async (request, response) => {
    const { url = '', method, headers } = request
    const body = await bodyOf(request)
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (url.startsWith('/busy-once') && !busy.has(url)) {
      busy.add(url)
      return json(500, { error: 'busy' })
    }
    if (url.startsWith('/missing')) return json(404, { error: 'no such title' })
    // Longer than the time limit of the request.
    if (url.startsWith('/slow')) return setTimeout(() => json(200, {}), 3_000)
    if (url.startsWith('/plain')) return response.writeHead(200, { 'content-type': 'text/plain' }).end('zażółć 日本')
    return json(200, {
      method,
      url,
      body,
      type: headers['content-type'],
      accept: headers['accept'],
      by: headers['x-client'],
      hook: headers['x-hook'],
    })
  }
}

async function openClients(t: Parameters<typeof openPluginFolder>[0]): Promise<string> {
  const folder = await openPluginFolder(t, { manifest: PERMISSIONS, files: { 'src/main.ts': CLIENTS } })
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'))
  return folder
}

t.test('unmodified HTTP libraries work in a plugin', onlyFull, async (t) => {
  const project = await readValidProject(await openClients(t))
  const { code } = await bundleProject(project)
  const { run, way } = await openTestHost(t, openService())
  const { call } = await run(code, PERMISSIONS)
  const ask = async (query: string) => {
    const { results } = (await call('metadata.series.search', { query, limit: 1 })) as { results: { title: string }[] }
    return JSON.parse(results[0]?.title ?? 'null')
  }
  t.match(await ask('ky get'), { method: 'GET', url: '/echo?q=a+b', accept: 'application/json', by: 'ky' })
  t.match(await ask('ky post'), { method: 'POST', body: '{"title":"Dune"}', type: 'application/json' })
  t.match(await ask('ky form'), { method: 'PUT', body: 'a=b+c', type: /^application\/x-www-form-urlencoded/ })
  t.match(JSON.parse(await ask('ky text')), { accept: 'text/*' })
  t.match(await ask('ky hooks'), { seen: ['200 true'], answer: { hook: 'yes', by: 'ky' } })
  t.match(await ask('ky again'), { method: 'GET', url: '/busy-once?by=ky' }, 'the library retries')
  t.match(await ask('ky failure'), { name: 'HTTPError', status: 404, data: { error: 'no such title' } })
  t.match(
    await ask('ky elsewhere'),
    { code: 'permission', message: /not a host that this plugin may contact/ },
    'errors of the server reach the caller',
  )
  t.match(await ask('ky timeout'), { name: 'TimeoutError' })

  t.match(await ask('ofetch get'), { method: 'GET', url: '/echo?q=a+b', by: 'ofetch' })
  t.match(await ask('ofetch post'), { method: 'POST', body: '{"title":"Dune"}', type: 'application/json', accept: 'application/json' })
  t.match(await ask('ofetch raw'), { status: 200, type: 'text/plain', _data: 'zażółć 日本' })
  t.equal(await ask('ofetch bytes'), 'zażółć 日本')
  t.match(await ask('ofetch again'), { url: '/busy-once?by=ofetch' })
  t.match(await ask('ofetch failure'), { name: 'FetchError', status: 404, data: { error: 'no such title' } })
  t.match(await ask('ofetch elsewhere'), { name: 'FetchError', code: 'permission', message: /not a host that this plugin may contact/ })
  t.match(await ask('ofetch timeout'), { name: 'FetchError', message: /aborted due to timeout/ })
  t.same(
    await ask('lodash'),
    [[[1, 2], [3]], { 1: ['a'], 2: ['bb'] }, 'one-piece', { a: { b: 1, c: 2 } }, '1'].map((one) => JSON.parse(JSON.stringify(one))),
  )
  t.ok(way.asked.every(({ headers }) => headers['user-agent'] === 'Carrel (plugin org.example.echo 1.0.0)'))
})

t.test('validate reports nothing for them', async (t) => {
  const { findings } = await validateWith(findSupervisor(), await openClients(t))
  t.same(
    findings.filter(({ level }) => level === 'error'),
    [],
  )
  t.comment(findings.map(({ message }) => message).join('\n'))
})

/** As in the README of the SDK. */
const TYPED = `import type { Context } from '@carrel/plugin-sdk'
import ky from 'ky'
import { createFetch } from 'ofetch'

export async function findTitles(words: string, ctx: Context): Promise<string[]> {
  const api = ky.create({ fetch: ctx.fetch, prefix: 'https://api.example.org/v1', retry: 0 })
  const { titles } = await api.get('titles', { searchParams: { words } }).json<{ titles: string[] }>()
  const $fetch = createFetch({ fetch: ctx.fetch })
  const more = await $fetch<string[]>('https://api.example.org/more')
  const answer = await ctx.fetch(new Request('https://api.example.org/', { headers: new Headers({ a: 'b' }) }), { timeoutMs: 100 })
  return [...titles, ...more, String(answer.retryAfterSeconds), ...answer.headers.keys()]
}
`

t.test('they compile with the types of the SDK', async (t) => {
  const folder = await placeSdk(t)
  for (const name of ['ky', 'ofetch']) await symlink(path.resolve('node_modules', name), path.join(folder, 'node_modules', name))
  await writeFiles(folder, [
    ['tsconfig.json', (await filesOf('plugin-sdk/README.md')).get('tsconfig.json') as string],
    ['src/client.ts', TYPED],
  ])
  await compile(folder)
  t.pass('it compiles')
})
