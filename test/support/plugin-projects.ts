import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { outTo } from '#plugins/devkit/command.ts'
import { runCommandLine } from '#plugins/devkit/command-line.ts'
import { manifestOf } from './plugins.ts'

/** A command that is stopped fails; on a machine that is slow and stands still, a release with its tests takes a minute. */
const PATIENCE_MS = 180_000

/** The code of a plugin with exactly the functions of `manifestOf`. */
export const ECHO = `import { definePlugin } from '@carrel/plugin-sdk'

export default definePlugin({
  metadata: {
    series: {
      async search({ query, limit }, ctx) {
        const { titles } = await ctx.http.json<{ titles: string[] }>(\`https://api.example.org/titles?q=\${encodeURIComponent(query)}\`)
        if (!Array.isArray(titles)) throw Object.assign(new Error('no list'), { code: 'upstream' })
        ctx.log.info('found', { titles: titles.length })
        return { results: titles.slice(0, limit).map((title) => ({ externalId: title, title })) }
      },
      async get({ externalId }, ctx) {
        const times = ((await ctx.storage.get<number>('times')) ?? 0) + 1
        await ctx.storage.set('times', times)
        return { externalId, title: externalId }
      },
    },
  },
})
`

/** The response of its service to a search for echoes. */
export const ECHO_FIXTURES = JSON.stringify({
  formatVersion: 1,
  exchanges: [{ request: { url: 'https://api.example.org/titles?q=echo' }, response: { json: { titles: ['Echo', 'Echoes', 'Echo 3'] } } }],
})

/** A service on this machine that answers every address with JSON, and what the manifest of a plugin has that asks it as `ctx.config.site`. */
export async function openLocalService(t: Test, answer: (url: string) => object) {
  const server = http.createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer(request.url ?? '')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const manifest = {
    permissions: { networkFromConfig: ['site'] },
    config: { type: 'object', properties: { site: { type: 'string', default: `http://localhost:${port}` } } },
  }
  return { port, place: `localhost:${port}`, manifest }
}

/** The folder of an author: a plugin that can be packed. `files` replaces files; null removes one. */
export async function openPluginFolder(
  t: Test,
  change: { manifest?: Record<string, unknown>; files?: Record<string, string | null> } = {},
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const files: Record<string, string | null> = {
    'manifest.json': JSON.stringify(manifestOf({ license: 'MIT', ...change.manifest })),
    'src/main.ts': ECHO,
    'README.md': '# Echo\n',
    LICENSE: 'MIT\n',
    'fixtures/echo.json': ECHO_FIXTURES,
    'calls/search.json': JSON.stringify({ method: 'metadata.series.search', input: { query: 'echo', limit: 5 }, fixtures: 'echo' }),
    ...change.files,
  }
  for (const [name, text] of Object.entries(files)) {
    if (text === null) continue
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
  return folder
}

/**
 * Runs a `carrel-plugin` command line in a folder until it ends.
 * @param stop as of Ctrl-C
 * @returns `output` as a terminal receives it, and `stderr` with each message in one line
 */
export async function runTool(
  folder: string,
  given: readonly string[],
  stop = AbortSignal.timeout(PATIENCE_MS),
): Promise<{ code: number; stdout: string; stderr: string; output: string }> {
  const said = { stdout: '', stderr: '' }
  const code = await runCommandLine(given, {
    cwd: folder,
    out: outTo({ write: (text: string) => (said.stdout += text) } as unknown as NodeJS.WritableStream),
    printError: (text) => {
      said.stderr += `${text}\n`
    },
    stop,
  })
  return { code, stdout: said.stdout, stderr: said.stderr.replaceAll(/\n {4}(?=\S)/g, ' '), output: said.stdout + said.stderr }
}
