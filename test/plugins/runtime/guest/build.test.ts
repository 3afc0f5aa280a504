import { readFileSync } from 'node:fs'
import t from 'tap'
import { buildScript, SCRIPTS } from '../../../../plugins/runtime/guest/build.mjs'

t.test('the scripts that run in isolates are built from their sources', async (t) => {
  for (const script of SCRIPTS) {
    const committed = readFileSync(script.output, 'utf8')
    t.equal(committed, await buildScript(script), `${script.output} is stale: run node plugins/runtime/guest/build.mjs`)
    t.notMatch(committed, /class _/, 'guests see the names of classes as they are written')
  }
})
