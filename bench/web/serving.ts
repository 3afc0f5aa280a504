import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { findBuildFolder, type WebPlaces } from '#api/web/build.ts'
import type { WebFigures } from '#bench/web/figures.ts'
import type { RunningServer } from '#test/support/running-server.ts'

const WIDTHS = [160, 240, 320, 480]
const ROUNDS_OF_FILES = 3

/** Covers in each size, made for the first time and again. */
export async function measureCovers(server: RunningServer, bookIds: readonly string[], figures: WebFigures): Promise<void> {
  for (const id of bookIds)
    for (const width of WIDTHS) {
      const address = `${server.url}/api/v1/books/${id}/thumbnail?width=${width}`
      for (const kind of ['first', 'again'] as const) {
        const begun = performance.now()
        const answer = await fetch(address, { headers: { ...server.headers, accept: 'image/webp' } })
        await answer.arrayBuffer()
        if (answer.status !== 200) throw new Error(`${address}: ${answer.status}`)
        figures.add(`sized cover, ${kind} ms`, performance.now() - begun)
      }
    }
}

/** What the server needs more once it has sent every file of the interface. @param folder of the built interface */
export async function measureServerMemory(
  server: RunningServer,
  folder: string,
  residentMb: () => number,
  figures: WebFigures,
): Promise<void> {
  const before = residentMb()
  for (let round = 0; round < ROUNDS_OF_FILES; round++)
    for (const name of [
      '',
      ...readdirSync(path.join(folder, 'assets'))
        .filter((name) => !/\.(br|gz)$/.test(name))
        .map((name) => `assets/${name}`),
    ])
      await (await fetch(`${server.url}/${name}`, { headers: { accept: 'text/html,*/*' } })).arrayBuffer()
  figures.add('server memory for the interface MB', residentMb() - before)
}

/** The interface of a fresh clone: packages with an empty cache of npm, the build, and a build of changed sources. */
export async function measureBuild(places: WebPlaces, figures: WebFigures): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'carrel-bench-web-build-'))
  const copy = { ...places, sources: path.join(folder, 'web'), builds: path.join(folder, 'builds') }
  try {
    cpSync(path.dirname(places.sources), folder, { recursive: true, filter: (from) => isOfBuild(places, from) })
    const env = { ...process.env, npm_config_cache: path.join(folder, 'npm-cache') }
    const build = async () => {
      const begun = performance.now()
      execFileSync(process.execPath, [path.join(copy.sources, 'build.mjs'), await findBuildFolder(copy)], {
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      return (performance.now() - begun) / 1000
    }
    figures.add('fresh clone: page built s', await build())
    const packages = path.join(copy.sources, 'node_modules')
    figures.add('fresh clone: packages MB', Number(execFileSync('du', ['-sk', packages], { encoding: 'utf8' }).split('\t')[0]) / 1000)
    appendFileSync(path.join(copy.sources, 'src', 'app', 'base.css'), '\n')
    figures.add('sources changed: page built s', await build())
    if (!existsSync(await findBuildFolder(copy))) throw new Error('The build of changed sources left no folder')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The sources of the interface and the description of the API, of which its types are made. */
function isOfBuild({ sources }: WebPlaces, from: string): boolean {
  const root = path.dirname(sources)
  const name = path.relative(root, from)
  return (
    name === '' ||
    ['api', 'api/docs', 'api/docs/openapi.json'].includes(name) ||
    (/^web(\/|$)/.test(name) && !/^web\/(node_modules|dist|built)(\/|$)/.test(name))
  )
}

/** How long an unchanged start takes to know that it has nothing to build. */
export async function measureUnchanged(places: WebPlaces, figures: WebFigures): Promise<void> {
  const begun = performance.now()
  await findBuildFolder(places)
  figures.add('sources unchanged ms', performance.now() - begun)
}
