import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { onlyFull } from '#test/support/lane-size.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { walkCatalog } from '#test/support/opds-walk.ts'
import { randomOf } from '#test/support/random-manifests.ts'
import { ADMIN, awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'

t.setTimeout(600_000)

const STEPS = 40

const basic = `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`

/** Books by id, with the titles of their series, as one interface lists them. */
type Listed = Record<string, string>

async function listRest(server: RunningServer): Promise<Listed> {
  const { data } = await server.get<{ data: { id: string; seriesName: string }[] }>('/api/v1/books?pageSize=500')
  return Object.fromEntries(data.map(({ id, seriesName }) => [id, seriesName]))
}

/** By the books of each series that is listed. */
async function listRestSeries(server: RunningServer): Promise<Listed> {
  const { data } = await server.get<{ data: { id: string; title: string }[] }>('/api/v1/series?pageSize=500')
  const found: Listed = {}
  for (const { id, title } of data) {
    const { data: books } = await server.get<{ data: { id: string }[] }>(`/api/v1/books?pageSize=500&seriesId=${id}`)
    for (const book of books) found[book.id] = title
  }
  return found
}

async function listKomga(server: RunningServer): Promise<Listed> {
  const answer = await fetch(`${server.url}/komga/api/v1/books?size=500`, { headers: { authorization: basic } })
  const { content } = (await answer.json()) as { content: { id: string; seriesTitle: string }[] }
  return Object.fromEntries(content.map(({ id, seriesTitle }) => [id, seriesTitle]))
}

async function listOpds(server: RunningServer): Promise<string[]> {
  const walked = await walkCatalog(server.url, '/opds/v2', { headers: { authorization: basic }, most: 5_000, reach: 'feeds' })
  const ids = walked.flatMap(({ path }) => /^\/opds\/v2\/books\/([^/?]+)$/.exec(path)?.[1] ?? [])
  return [...new Set(ids)].sort()
}

t.test(
  'while files move, the library is watched and its layout changes, all interfaces list the same at the end, and no book is lost',
  onlyFull,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'carrel-watched-'))
    const library = join(folder, 'library')
    const random = randomOf(7)
    const pick = <Item>(all: readonly Item[]): Item => all[Math.floor(random() * all.length)] as Item
    const files = new Map<string, string>()
    const put = (path: string, seed: string) => {
      mkdirSync(dirname(join(library, path)), { recursive: true })
      writeFileSync(join(library, path), comic(seed))
      files.set(path, seed)
    }
    const SERIES = ['Saga', 'Bone', 'Akira', 'Hellboy']
    for (const name of SERIES) for (let n = 1; n <= 6; n++) put(`${name}/Vol ${Math.ceil(n / 3)}/${name} ${n}.cbz`, `${name} ${n}`)
    const server = await startServer({
      dataFolder: join(folder, 'data'),
      args: ['--library', library],
      env: { CARREL_WATCH: 'true' },
    })
    t.teardown(async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    const { data: libraries } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
    const id = libraries[0]?.id as string
    await awaitScan(server, id, { analyzed: true, timeoutMs: 60_000 })
    await until(async () => (await server.get<{ watching?: boolean }>(`/api/v1/libraries/${id}/scan-status`)).watching)
    const enabled = await fetch(`${server.url}/api/v1/admin/settings/compatibilityApi.enabled`, {
      method: 'PUT',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ value: 'true' }),
    })
    t.equal(enabled.status, 200, await enabled.text())
    const before = Object.keys(await listRest(server)).sort()
    t.equal(before.length, files.size)

    const strategies = ['auto', 'series_volume', 'flat', 'series_volume_chapter', 'publisher_hierarchy']
    for (let step = 0; step < STEPS; step++) {
      const paths = [...files.keys()]
      for (let move = 0; move < 3; move++) {
        const from = pick(paths)
        if (!files.has(from)) continue
        const to = `${pick(SERIES)}/${pick(['', 'Vol 1/', 'Vol 2/', 'Specials/'])}moved ${step} ${move}.cbz`
        mkdirSync(dirname(join(library, to)), { recursive: true })
        renameSync(join(library, from), join(library, to))
        files.set(to, files.get(from) as string)
        files.delete(from)
      }
      const change = await fetch(`${server.url}/api/v1/libraries/${id}`, {
        method: 'PATCH',
        headers: { ...server.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ seriesStrategy: pick(strategies) }),
      })
      t.ok([200, 409].includes(change.status), `the layout changes, or a scan runs: ${change.status}`)
      await change.body?.cancel()
    }
    const isQuiet = async () => {
      const { total } = await server.get<{ total: number }>('/api/v1/tasks?status=pending&pageSize=1')
      const { total: running } = await server.get<{ total: number }>('/api/v1/tasks?status=processing&pageSize=1')
      const { pendingAnalysis, status } = await server.get<{ pendingAnalysis: number; status: string }>(
        `/api/v1/libraries/${id}/scan-status`,
      )
      return total + running + pendingAnalysis === 0 && status === 'completed'
    }
    const pathsNow = async () => {
      const { data } = await server.get<{ data: { filePath: string }[] }>('/api/v1/books?pageSize=500')
      return data.map(({ filePath }) => filePath.slice(library.length + 1)).sort()
    }
    await until(async () => (await pathsNow()).join() === [...files.keys()].sort().join() && (await isQuiet()), 120_000)
    const listed = await listRest(server)
    t.same(Object.keys(listed).sort(), before, 'each book is the one it was')
    t.same(await listRestSeries(server), listed, 'the lists of series')
    t.same(await listKomga(server), listed, 'the compatibility API')
    t.same(await listOpds(server), before, 'OPDS')
  },
)
