/**
 * What people wait for in the web interface, and what it takes: Chromium over a real server with 100,000 books, beside an empty
 * shell of the same server. `npm run bench:web [-- --rounds 5 --series 5000 --only home,list --build]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { exists, findBuildFolder, startBuild, webPlaces } from '#api/web/build.ts'
import { openFilledServer } from '#bench/lists/filled-server.ts'
import { memoryOf } from '#bench/memory.ts'
import { machineLoad } from '#bench/side-by-side.ts'
import { measureList, measureSearch } from '#bench/web/browse.ts'
import { launchChromium } from '#bench/web/device.ts'
import { WebFigures } from '#bench/web/figures.ts'
import { addReadBooks } from '#bench/web/library.ts'
import { measureHome, measureShifts } from '#bench/web/pages.ts'
import { measureLongBook, measurePages, measureText } from '#bench/web/reading.ts'
import { measureBuild, measureCovers, measureServerMemory, measureUnchanged } from '#bench/web/serving.ts'
import { measureSizes } from '#bench/web/sizes.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    series: { type: 'string', default: '5000' },
    /** Names of measurements with commas, such as `home,list`; the bars of the others are then not checked. */
    only: { type: 'string', default: '' },
    /** Also installs the packages of a fresh clone from the registry, into an empty cache, and builds. */
    build: { type: 'boolean', default: false },
  },
})
const ROUNDS = Number(values.rounds)
const places = webPlaces(fileURLToPath(new URL('..', import.meta.url)))
const figures = new WebFigures()
const isWanted = (name: string) => values.only === '' || values.only.split(',').includes(name)

/** The built interface, which is built now if the sources have changed. */
async function findBuilt(): Promise<string> {
  const folder = await findBuildFolder(places)
  if (await exists(folder)) return folder
  const problem = await startBuild(places, folder, (step) => console.log(`The interface: ${step} …`)).ended
  if (problem !== null) throw new Error(`The interface could not be built: ${problem}`)
  return folder
}

async function measureInBrowser(built: string): Promise<void> {
  const books = mkdtempSync(path.join(tmpdir(), 'carrel-bench-web-'))
  // With the limits of rates: a fast scroll must not reach them.
  const filled = await openFilledServer({ series: Number(values.series), keep: undefined, env: { CARREL_RATE_LIMIT: 'true' } })
  const { server } = filled
  const browser = await launchChromium()
  try {
    if (isWanted('memory')) await measureServerMemory(server, built, () => memoryOf(server.pid).server, figures)
    const read = await addReadBooks(server, books)
    if (isWanted('covers')) await measureCovers(server, read.comics, figures)
    for (let round = 0; round < ROUNDS; round++) {
      console.log(`round ${round + 1} of ${ROUNDS}; ${machineLoad()}`)
      if (isWanted('home')) await measureHome(browser, server.url, figures)
      if (isWanted('list')) await measureList(browser, server.url, figures)
      if (isWanted('search')) await measureSearch(browser, server.url, round, figures)
      if (isWanted('pages')) await measurePages(browser, server.url, read, figures)
      if (isWanted('text')) await measureText(browser, server.url, read, figures)
      if (isWanted('shifts')) await measureShifts(browser, server.url, read, figures)
    }
    if (isWanted('long')) await measureLongBook(browser, server.url, read, figures)
  } finally {
    await browser.close()
    await filled.close()
    rmSync(books, { recursive: true, force: true })
  }
}

console.log(machineLoad())
const built = await findBuilt()
measureSizes(built, figures)
for (let round = 0; round < ROUNDS; round++) await measureUnchanged(places, figures)
if (values.build) await measureBuild(places, figures)
if (values.only !== 'sizes') await measureInBrowser(built)
figures.report()
