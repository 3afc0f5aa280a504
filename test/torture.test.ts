import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull, sizeOf } from '#test/support/lane-size.ts'
import { randomOf } from '#test/support/random-manifests.ts'
import { testSeed } from '#test/support/timed-property.ts'
import { TestedServer } from '#test/support/torture/server.ts'
import { shorten } from '#test/support/torture/shorten.ts'
import { type Step, StepChoice } from '#test/support/torture/steps.ts'
import { Walk } from '#test/support/torture/walk.ts'

// Five thousand: npm run test:torture -- --steps 5000 --seed N
t.setTimeout(7_200_000)

const asked = Number(process.env['TORTURE_STEPS'] ?? 0)
const steps = asked || sizeOf('steps', { main: 100, full: 500 })
// Whether a change is taken does not depend on what a new walk finds in other code.
const seed = Number(process.env['TORTURE_SEED'] ?? (onlyFull.skip ? 45 : testSeed)) | 0
/** So that a walk that fails is short enough to be repeated many times. */
const WALK_STEPS = 100
/** A start takes as long as dozens of other steps. */
const KILL_SHARE = 0.03
const SHORTEN_MS = 120_000
const LAST: Step = { do: 'scan', order: ['A', 'B'], mode: 'normal', part: '', confirm: 'none', stop: null }

t.test(`after ${steps} random steps the libraries are as a model says (seed ${seed})`, async (t) => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'carrel-torture-')))
  const server = new TestedServer({ dataFolder: path.join(folder, 'data'), ...(await openTestDatabase(t, { poolMax: 1 })) })
  t.teardown(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  t.comment('left out: rights of files and folders, which do not bind root, as whom tests run')
  await server.start()
  await server.prepare()
  let count = 0
  const open = () => Walk.open(server, path.join(folder, `walk ${++count}`))

  /** Takes steps of a new walk until the server differs from the model; returns how. */
  const repeat = async (given: readonly Step[]): Promise<string[] | null> => {
    const walk = await open()
    try {
      for (const step of given) {
        const differences = await differencesOf(walk, step)
        if (differences.length > 0) return differences
      }
      return null
    } finally {
      await walk.close()
    }
  }

  for (let done = 0; done < steps; done += WALK_STEPS) {
    const taken: Step[] = []
    const walk = await open()
    const random = randomOf(seed + done)
    const choice = new StepChoice({ random, tree: walk.tree, model: walk.model, killShare: KILL_SHARE })
    let differences: string[] = []
    const length = Math.min(WALK_STEPS, steps - done)
    while (taken.length < length && differences.length === 0) {
      taken.push(taken.length === length - 1 ? LAST : choice.next())
      differences = await differencesOf(walk, taken.at(-1) as Step)
    }
    await walk.close()
    t.same(differences, [], `steps ${done + 1} to ${done + taken.length}`)
    if (differences.length === 0) continue
    t.comment(server.lastLines())
    const short = await shorten(taken, repeat, { ms: SHORTEN_MS })
    const first = short.reasons ? 'They fail with fewer steps' : 'They did not fail a second time'
    t.comment([`${first}:`, ...short.items.map((step) => JSON.stringify(step)), ...(short.reasons ?? [])].join('\n'))
    return
  }
})

const differencesOf = (walk: Walk, step: Step): Promise<string[]> => walk.take(step).catch((error: Error) => [String(error.stack)])
