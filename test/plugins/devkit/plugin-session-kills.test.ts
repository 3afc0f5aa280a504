import t from 'tap'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

const MAIN = `const kept: number[][] = []
function spin(): void {
  let count = 0
  while (count >= 0) count += 1
}
function hoard(): void {
  while (true) { const list: number[] = []; for (let at = 0; at < 1_000; at++) list.push(at / 2); kept.push(list) }
}
export default { metadata: { series: {
  search: () => ({ results: [] }),
  get: ({ externalId }: { externalId: string }) => {
    if (externalId === 'spin') spin()
    if (externalId === 'hoard') hoard()
    return { externalId, title: 'a' }
  } } } }
`
const call = (externalId: string) =>
  JSON.stringify({ method: 'metadata.series.get', input: { externalId }, fixtures: { formatVersion: 1, exchanges: [] } })

t.test('code that is stopped for its limits names its function, file and line', async (t) => {
  const folder = await openPluginFolder(t, {
    files: { 'src/main.ts': MAIN, 'calls/spin.json': call('spin'), 'calls/good.json': call('good') },
  })
  // On a busy machine, filling the memory may take more than the CPU time of a call.
  const hoarding = await openPluginFolder(t, {
    manifest: { limits: { cpuMs: 5_000 } },
    files: { 'src/main.ts': MAIN, 'calls/hoard.json': call('hoard') },
  })
  t.match(await runTool(folder, ['replay', 'calls/spin.json']), {
    code: 1,
    stdout: /✖ cpu: The code exceeded its CPU limit of \d+ ms\. It was running spin\.[^✖]*\n +at src\/main\.ts:4:\d+/,
  })
  t.match(await runTool(hoarding, ['replay', 'calls/hoard.json']), {
    code: 1,
    stdout: /✖ memory: The code exceeded its memory limit of \d+ MB\. It was running \w+\.[^✖]*\n +at src\/main\.ts:7:\d+/,
  })
  t.match(await runTool(folder, ['replay', 'calls/good.json']), { code: 0 })
})

t.test('so does code that is stopped while it loads', async (t) => {
  for (const [name, line, complaint] of [
    // On a busy machine its time ends first.
    ['spin', 4, /CPU limit|time limit/],
    ['hoard', 7, /memory limit/],
  ] as const) {
    const folder = await openPluginFolder(t, {
      // Filled in half of the time: a manifest cannot raise the CPU time of loading.
      manifest: { limits: { heapMB: 32 } },
      files: { 'src/main.ts': `${MAIN}${name}()\n`, 'calls/good.json': call('good') },
    })
    const { code, stdout } = await runTool(folder, ['replay', 'calls/good.json'])
    t.equal(code, 1)
    t.match(stdout, complaint)
    t.match(stdout, new RegExp(`It was running ${name}\\.[^✖]*\n +at src/main\\.ts:${line}:`))
    t.match((await runTool(folder, ['validate'])).stdout, new RegExp(`at src/main\\.ts:${line}:`), name)
  }
})

t.test('a debugger statement does not hold the code', async (t) => {
  const main = `export default { metadata: { series: { search: () => ({ results: [] }), get: ({ externalId }) => {
    const until = Date.now() + 200
    while (Date.now() < until) debugger
    return { externalId, title: 'a' }
  } } } }`
  const folder = await openPluginFolder(t, { files: { 'src/main.js': main, 'src/main.ts': null, 'calls/good.json': call('good') } })
  t.match(await runTool(folder, ['replay', 'calls/good.json']), { code: 0 })
})
