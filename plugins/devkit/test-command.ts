import { escapedText, messageLines } from '#core/foundation/stranger-text.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { ALLOW_LOCAL, readAllowLocal } from './allow-local.ts'
import { bundleProject } from './bundling/bundle.ts'
import { checkStop, counted, printMessage, readCount, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { runConformance } from './conformance.ts'
import { CREDENTIALS, missingCredentials, readCredentials } from './credentials-file.ts'
import { packProject } from './pack.ts'
import { CallProblem, describeProblem } from './plugin-session.ts'
import { readValidProject } from './project.ts'
import { CALLS_FOLDER, listCalls, type SavedCall } from './saved-call.ts'
import { findMisplacedTests, listTestFiles, runTestFiles, type TestOutcome } from './test-files.ts'
import { TestingTools } from './testing-host.ts'
import { checkTypesUnless, printTypes, TYPES, type TypeCheck } from './type-check.ts'
import { type TestPart, watchTests } from './watch/test-watch.ts'

const MARKS = {
  passed: { mark: '✔', style: 'green' },
  failed: { mark: '✖', style: 'red' },
  skipped: { mark: '–', style: 'dim' },
} as const
/** Shorter times are not shown. */
const SLOW_MS = 100
const CPU_MS_MAX = 30_000
const NOT_ALL = 'Not all tests ran.'

export const test: ToolCommand = {
  name: 'test',
  usage: '[file…]',
  words: [0, 100],
  summary: 'runs your tests, and the conformance checks for every plugin',
  about:
    'Runs test/**/*.test.ts (or .js), which import @carrel/plugin-sdk/testing; tests in other places or with other names fail. Requests are answered from fixtures/ only; a request that matches no fixture fails its test. Then it runs the conformance checks with the calls in calls/: a service that fails or is slow, titles in any script, and the like. Meanwhile the TypeScript of your project checks the types.',
  flags: [
    {
      name: 'record',
      isSwitch: true,
      about:
        'Sends requests to the real services, and records their responses in fixtures/, for your tests and for the calls in calls/. Failures and responses with a status of 400 or more, which you may have written, stay.',
    },
    ALLOW_LOCAL,
    CREDENTIALS,
    { name: 'cpu-ms', value: 'number', about: 'Fails every call of a test that takes more CPU time.' },
    { name: 'conformance', isSwitch: true, about: 'With --no-conformance, runs only your tests.' },
    {
      name: 'watch',
      isSwitch: true,
      about:
        'Runs again what a change concerns: a test file alone, the checks after a change of calls/, everything after a change of the code.',
    },
    TYPES,
  ],
  async run(input) {
    const { words, flag, isOn } = input
    if (readAllowLocal(input).size > 0 && !isOn('record'))
      throw new ToolProblem('--allow-local requires --record: otherwise fixtures answer, and no request leaves this machine.')
    if (flag(CREDENTIALS.name) !== undefined && !isOn('record'))
      throw new ToolProblem('--credentials requires --record: fixtures need no credentials.')
    const part: TestPart = { words, conformance: flag('conformance') !== 'false' }
    if (!isOn('watch')) return await runTests(input, part)
    if (isOn('record')) throw new ToolProblem('--watch answers requests from fixtures/ only: record first, without it.')
    return await watchTests(input, part, (concerned) => runTests(input, concerned))
  },
}

/** @throws ToolProblem, AppError */
async function runTests(input: ToolInput, part: TestPart): Promise<number> {
  const { folder, flag, isOn, log, out } = input
  const project = await readValidProject(folder)
  const credentials = await readCredentials(input, project.manifest)
  const bundle = await bundleProject(project)
  // A package that no server would install needs no tests.
  packProject(project, bundle)
  const cpuMsMax = flag('cpu-ms') === undefined ? null : readCount(flag('cpu-ms'), { flag: 'cpu-ms', unless: 0, max: CPU_MS_MAX })
  const files = part.words === null ? [] : await chooseFiles(folder, part.words)
  const misplaced = part.words?.length === 0 ? await findMisplacedTests(folder, files) : []
  // While recording, their fixtures need not exist yet.
  const calls = await listCalls(folder, isOn('record'))
  const built = { manifest: project.manifest, code: bundle.code, map: bundle.map }
  const supervisor = new Supervisor({ log, spare: false })
  const types = checkTypesUnless(input, project, input.stop)
  const outcomes: TestOutcome[] = []
  const own = methodsOf(project.manifest)
  for (const { name, method } of calls.filter((call) => !own.includes(call.method)))
    printMessage(out, ['yellow', '!'], `${CALLS_FOLDER}/${name}.json calls ${method}, which manifest.json does not name: no check uses it.`)
  const bare = isOn('record') ? missingCredentials(input, project.manifest) : null
  if (bare !== null) printMessage(out, ['yellow', '!'], bare)
  const show = printing(input, outcomes)
  try {
    const tools = new TestingTools({
      folder,
      built,
      supervisor,
      isRecording: isOn('record'),
      local: readAllowLocal(input),
      credentials,
      cpuMsMax,
    })
    for (const outcome of misplaced) show(outcome)
    await runTestFiles(folder, files, tools, show, input.stop)
    if (isOn('record')) await recordCalls(calls, tools, show)
    // A test that fails makes fewer requests than one that passes.
    const isWhole = input.words.length === 0 && outcomes.every(({ state }) => state !== 'failed')
    for (const file of isOn('record') ? await tools.saveRecorded(!isWhole) : [])
      for (const line of messageLines(`  recorded ${escapedText(file)}`)) out.line(line)
    for (const said of tools.listUnrecorded()) printMessage(out, ['yellow', '!'], escapedText(said))
    const recorded = isOn('record') ? await listCalls(folder) : calls
    if (part.conformance) await runConformance({ built, supervisor, calls: recorded }, show)
  } finally {
    supervisor.close()
  }
  const checked = await types
  checkStop(input, NOT_ALL)
  return summarize(input, outcomes, { hasTests: part.words === null || files.length + misplaced.length > 0, types: checked })
}

/** Records what the calls of the conformance checks need. */
async function recordCalls(calls: readonly SavedCall[], tools: TestingTools, onOutcome: (outcome: TestOutcome) => void): Promise<void> {
  for (const call of calls) {
    const { name, fixturesName } = call
    if (fixturesName === null) continue
    const at = performance.now()
    const error = await tools.recordCall({ ...call, fixturesName }).catch((error: unknown) => error)
    if (error !== undefined && !(error instanceof CallProblem)) throw error
    const message = error === undefined ? null : describeProblem(error)
    const state = message === null ? 'passed' : 'failed'
    onOutcome({ group: CALLS_FOLDER, name: `${name}.json is recorded`, state, message, wallMs: performance.now() - at })
  }
}

async function chooseFiles(folder: string, words: readonly string[]): Promise<string[]> {
  const files = await listTestFiles(folder)
  if (words.length === 0) return files
  const chosen = files.filter((file) => words.some((word) => file.includes(word)))
  if (chosen.length === 0)
    throw new ToolProblem(
      `No test file matches ${words.join(', ')}. Test files: ${files.join(', ') || 'none; they are in test/, and their names end with .test.ts'}`,
    )
  return chosen
}

const printing = ({ out, stop }: ToolInput, outcomes: TestOutcome[]) => {
  let group = ''
  return (outcome: TestOutcome): void => {
    checkStop({ stop }, NOT_ALL)
    outcomes.push(outcome)
    const { state, name, message, wallMs } = outcome
    if (outcome.group !== group) {
      group = outcome.group
      for (const line of messageLines(escapedText(group))) out.line(out.paint('bold', line))
    }
    const { mark, style } = MARKS[state]
    const aside =
      state === 'skipped' && message !== null ? `  (${escapedText(message)})` : wallMs >= SLOW_MS ? `  (${Math.round(wallMs)} ms)` : ''
    const why = state === 'failed' ? (message ?? '').split('\n').map((line) => `      ${line}`) : []
    printMessage(out, [style, `  ${mark}`], [`${escapedText(name)}${aside}`, ...why].join('\n'))
    for (const warning of outcome.warnings ?? []) printMessage(out, ['yellow', '    !'], escapedText(warning))
  }
}

function summarize(
  input: ToolInput,
  outcomes: readonly TestOutcome[],
  { hasTests, types }: { hasTests: boolean; types: TypeCheck },
): number {
  const { out } = input
  const count = (state: TestOutcome['state']) => outcomes.filter((one) => one.state === state).length
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('skipped')]
  out.line()
  if (!hasTests) out.line(`You have no tests yet. Write test/main.test.ts.`)
  printTypes(input, types)
  const parts = [`${passed} passed`, failed > 0 ? `${failed} failed` : '', skipped > 0 ? `${skipped} skipped` : '']
  const text = [...parts, types.errors.length > 0 ? counted(types.errors.length, 'type error') : ''].filter(Boolean).join(', ')
  const isGood = failed === 0 && types.errors.length === 0
  out.line(isGood ? out.paint('green', `✔ ${text}`) : out.paint('red', `✖ ${text}`))
  return isGood ? 0 : 1
}
