import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { announceRecords } from '#core/events/event-store.ts'
import { readSources, sourcePaths } from '#test/support/architecture.ts'
import { CalledFiles } from '#test/support/called-files.ts'
import { type EventReader, followEvents } from '#test/support/event-reading.ts'
import { EVERY_REQUEST, type FlowFiles, readFlowFiles, writeFlowFiles } from '#test/support/flow-files.ts'
import { openSources } from '#test/support/flows.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { PROVIDER, PROVIDER_MANIFEST } from '#test/support/matching-server.ts'
import { pluginOf } from '#test/support/plugins.ts'

/**
 * Which files do the work of each flow: those with functions that a real run calls. docs/architecture.md lists them; `npm run flows` writes the
 * list anew.
 */

const ROOT = new URL('..', import.meta.url)
const PAGE = new URL('docs/architecture.md', ROOT)
/** The first run opens and fills what is kept. In the others, the same files work; a file that works in some of them does something else. */
const RUNS = 4
/** Files that work in a run or not, by what the server does beside the flow. */
const CHANCE_MAX = 4
/** Long enough for what the server does all the time, such as watching the event loop. */
const IDLE_MS = 150

t.setTimeout(240_000)

/** How each flow is run, given the number of the run. */
type Flows = Record<string, (run: number) => Promise<unknown>>

async function openFlows(t: Test): Promise<Flows> {
  const server = await openLibraryServer(t, { 'Pages/Book.cbz': comic('pages', RUNS) })
  const { database, services, libraryId, put, ask, url, adminToken, books } = server
  const must = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await ask(method, path, body)
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`)
    return json
  }
  const [book] = (await books()).values()
  const bookId = book?.id as string
  let reader: EventReader | null = null
  let pluginId = ''
  return {
    [EVERY_REQUEST]: () => must('GET', 'libraries'),
    'File → book': async (run) => {
      const path = put(`Series ${run}/Book ${run}.cbz`, comic(`scan ${run}`))
      await services.scans.start(libraryId)
      await until(() => database('books').where({ path, state: 'analyzed' }).first('id'))
      await must('GET', `libraries/${libraryId}/books`)
    },
    'Request → reply': (run) => must('GET', `books?page=${run + 1}`),
    'Page → client': (run) => must('GET', `books/${bookId}/pages/${run + 1}`),
    'PATCH of metadata → row': (run) => must('PATCH', `books/${bookId}/metadata`, { summary: `Summary ${run}` }),
    'Event → stream': async (run) => {
      reader ??= await followEvents(url, adminToken)
      const before = reader.events.length
      await database.transaction((trx) => announceRecords(trx, 'book', [bookId], ['summary']))
      await until(() => (reader?.events.length ?? 0) > before)
      if (run === RUNS - 1) await reader.close()
    },
    'Plugin answer': async (run) => {
      if (run === 0) {
        const { plugin, sha256 } = await services.pluginLifecycle.install(pluginOf(PROVIDER, PROVIDER_MANIFEST), { userId: null })
        await services.pluginLifecycle.consent(plugin.id, { sha256 })
        pluginId = plugin.id
      }
      const metadata = { action: 'search', contentType: 'series', params: { query: `Berserk ${run}` } }
      await must('POST', `plugins/${pluginId}/execute`, { action: { metadata } })
    },
  }
}

/** The modules of the process that runs plugins: it may neither write files nor be inspected, so nothing can be recorded in it. */
function runnerFiles(): string[] {
  const sources = openSources(readSources(fileURLToPath(ROOT), sourcePaths(fileURLToPath(ROOT))))
  const found = new Set<string>()
  const add = (path: string): void => {
    if (found.has(path)) return
    found.add(path)
    for (const next of sources.loads(path)) add(next)
  }
  add('plugins/runtime/runner/runner.mjs')
  // The server reads frames too.
  return [...found].filter((path) => path.startsWith('plugins/runtime/runner/'))
}

/** The files with calls in all but the first run. */
async function filesOf(called: CalledFiles, run: (count: number) => Promise<unknown>): Promise<string[]> {
  const runs: string[][] = []
  for (let count = 0; count < RUNS; count++) {
    await called.take()
    await run(count)
    // What follows the reply belongs to the flow too, such as the event of a change.
    await sleep(IDLE_MS)
    runs.push(await called.take())
  }
  const [, first = [], ...others] = runs
  return first.filter((path) => others.every((other) => other.includes(path)))
}

async function recordFlows(t: Test): Promise<{ recorded: FlowFiles; idle: string[] }> {
  const flows = await openFlows(t)
  const called = await CalledFiles.open(ROOT)
  t.teardown(() => called.close())
  const idle = await filesOf(called, () => sleep(IDLE_MS))
  const recorded = new Map<string, string[]>()
  for (const [title, run] of Object.entries(flows)) {
    const listed = [...idle, ...(recorded.get(EVERY_REQUEST) ?? [])]
    const files = (await filesOf(called, run)).filter((path) => !listed.includes(path))
    recorded.set(title, title === 'Plugin answer' ? [...files, ...runnerFiles()] : files)
  }
  return { recorded, idle }
}

t.test('docs/architecture.md lists the files that do the work of each flow', async (t) => {
  const page = await readFile(PAGE, 'utf8')
  const { recorded, idle } = await recordFlows(t)
  if (process.argv.includes('--write')) return await writeFile(PAGE, writeFlowFiles(page, recorded))
  const listed = readFlowFiles(page)
  t.same([...listed.keys()], [...recorded.keys()])
  for (const [title, files] of recorded) {
    const before = listed.get(title) ?? []
    // What worked without a flow this time, such as a statement that comes now and then, says nothing of the flow.
    const missing = before.filter((path) => !files.includes(path) && !idle.includes(path))
    const others = [...files.filter((path) => !before.includes(path)), ...missing]
    t.ok(others.length <= CHANCE_MAX, `${title}: ${others.join(', ')}; npm run flows writes the lists anew`)
  }
})
