import { escapedText, messageLines } from '#core/foundation/stranger-text.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { ALLOW_LOCAL, readAllowLocal } from './allow-local.ts'
import { bundleProject } from './bundle.ts'
import { printMessage, readCount, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { runConformance } from './conformance.ts'
import { CREDENTIALS, readCredentials } from './credentials-file.ts'
import { packProject } from './pack.ts'
import { readValidProject } from './project.ts'
import { listCalls } from './saved-call.ts'
import { listTestFiles, runTestFiles, type TestOutcome } from './test-files.ts'
import { TestingTools } from './testing-host.ts'

const MARKS = {
  passed: { mark: '✔', style: 'green' },
  failed: { mark: '✖', style: 'red' },
  skipped: { mark: '–', style: 'dim' },
} as const
/** Shorter times are not shown. */
const SLOW_MS = 100
const CPU_MS_MAX = 30_000

export const test: ToolCommand = {
  name: 'test',
  usage: '[file…]',
  summary: 'runs your tests, and the conformance checks for every plugin',
  about:
    'Runs test/**/*.test.ts (or .js), which import @carrel/plugin-sdk/testing. Requests are answered from fixtures/ only; a request that matches no fixture fails its test. Then it runs the conformance checks with the calls in calls/: a service that fails or is slow, titles in any script, and the like.',
  flags: [
    {
      name: 'record',
      isSwitch: true,
      repeatable: false,
      about: 'Sends requests to the real services, and records their responses in fixtures/.',
    },
    ALLOW_LOCAL,
    CREDENTIALS,
    { name: 'cpu-ms', value: 'number', isSwitch: false, repeatable: false, about: 'Fails every call of a test that takes more CPU time.' },
    { name: 'conformance', isSwitch: true, repeatable: false, about: 'With --no-conformance, runs only your tests.' },
  ],
  wordsMin: 0,
  wordsMax: 100,
  async run(input) {
    const { folder, words, flag, isOn, log, out } = input
    const local = readAllowLocal(input)
    if (local.size > 0 && !isOn('record'))
      throw new ToolProblem('--allow-local requires --record: otherwise fixtures answer, and no request leaves this machine.')
    if (flag(CREDENTIALS.name) !== undefined && !isOn('record'))
      throw new ToolProblem('--credentials requires --record: fixtures need no credentials.')
    const project = await readValidProject(folder)
    const credentials = await readCredentials(input, project.manifest)
    const bundle = await bundleProject(project)
    // A package that no server would install needs no tests.
    packProject(project, bundle)
    const cpuMsMax = flag('cpu-ms') === undefined ? null : readCount(flag('cpu-ms'), { flag: 'cpu-ms', unless: 0, max: CPU_MS_MAX })
    const files = await chooseFiles(folder, words)
    const calls = await listCalls(folder)
    const built = { manifest: project.manifest, code: bundle.code, map: bundle.map }
    const supervisor = new Supervisor({ log, spare: false })
    const outcomes: TestOutcome[] = []
    const show = printing(input, outcomes)
    try {
      const tools = new TestingTools({ folder, built, supervisor, isRecording: isOn('record'), local, credentials, cpuMsMax })
      await runTestFiles(folder, files, tools, show)
      for (const file of isOn('record') ? await tools.saveRecorded() : [])
        for (const line of messageLines(`  recorded ${escapedText(file)}`)) out.line(line)
      if (flag('conformance') !== 'false') await runConformance({ built, supervisor, calls }, show)
    } finally {
      supervisor.close()
    }
    return summarize(input, outcomes, files.length)
  },
}

async function chooseFiles(folder: string, words: readonly string[]): Promise<string[]> {
  const files = await listTestFiles(folder)
  if (words.length === 0) return files
  const chosen = files.filter((file) => words.some((word) => file.includes(word)))
  if (chosen.length === 0) throw new ToolProblem(`No test file matches ${words.join(', ')}. Test files: ${files.join(', ') || 'none'}`)
  return chosen
}

const printing = ({ out }: ToolInput, outcomes: TestOutcome[]) => {
  let group = ''
  return (outcome: TestOutcome): void => {
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
  }
}

function summarize({ out }: ToolInput, outcomes: readonly TestOutcome[], files: number): number {
  const count = (state: TestOutcome['state']) => outcomes.filter((one) => one.state === state).length
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('skipped')]
  out.line()
  if (files === 0) out.line(`You have no tests yet. Write test/main.test.ts.`)
  const text = [`${passed} passed`, failed > 0 ? `${failed} failed` : '', skipped > 0 ? `${skipped} skipped` : '']
    .filter(Boolean)
    .join(', ')
  out.line(failed > 0 ? out.paint('red', `✖ ${text}`) : out.paint('green', `✔ ${text}`))
  return failed > 0 ? 1 : 0
}
