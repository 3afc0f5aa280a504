import path from 'node:path'
import { createHistogram } from 'node:perf_hooks'
import { messageLines } from '#core/foundation/stranger-text.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { budgetOf } from '#plugins/packages/budgets.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openReplay } from '../../plugin-sdk/fixtures.ts'
import type { CallTrace } from '../../plugin-sdk/testing.ts'
import { ALLOW_LOCAL, readAllowLocal, typedRecord } from './allow-local.ts'
import { bundleProject } from './bundling/bundle.ts'
import { counted, printMessage, readCount, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { CREDENTIALS, missingCredentials, readCredentials } from './credentials-file.ts'
import { replayEgress } from './host-answers.ts'
import { asCallProblem, type Built, CallProblem, describeProblem, PluginSession } from './plugin-session.ts'
import { readValidProject } from './project.ts'
import { authOfCall, CALLS_FOLDER, readCall, type SavedCall } from './saved-call.ts'

/** Opens the plugin of a folder for a saved call. */
async function withCall<Result>(
  input: ToolInput,
  work: (opened: { built: Built; call: SavedCall; session: PluginSession; unmatched: string[] }) => Promise<Result>,
): Promise<Result> {
  const { cwd, folder, words, log } = input
  const local = readAllowLocal(input)
  const project = await readValidProject(folder)
  const credentials = await readCredentials(input, project.manifest)
  const call = await readCall(folder, path.resolve(cwd, words[0] as string))
  const { code, map } = await bundleProject(project)
  const built = { manifest: project.manifest, code, map }
  const supervisor = new Supervisor({ log, spare: false })
  const unmatched: string[] = []
  try {
    const egress = call.fixtures === null ? new HttpsEgress(undefined, local) : replayEgress(openReplay(call.fixtures), unmatched)
    const { config, userConfig, library } = call
    const auth = authOfCall(call, project.manifest)
    const session = new PluginSession(supervisor, built, { egress, config, userConfig, library, auth, credentials })
    try {
      return await work({ built, call, session, unmatched })
    } finally {
      session.close()
    }
  } finally {
    supervisor.close()
  }
}

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`

/** The trace of a call, and its share of the budget. */
function describeTrace(trace: CallTrace, budget: { cpuMs: number; wallMs: number }): string[] {
  const share = (used: number, of: number) => `${ms(used)} of ${of} ms (${Math.round((used / of) * 100)} %)`
  return [
    // A failed call does not report it.
    `computed  ${trace.cpuMs === 0 ? 'unknown, because the call failed' : share(trace.cpuMs, budget.cpuMs)}`,
    `took      ${share(trace.wallMs, budget.wallMs)}`,
    `sent      ${counted(trace.requests.length, 'request')}`,
    ...trace.requests.map(({ method, url, status }) => `  ${status ?? 'no answer'}  ${method} ${url}`),
    ...(trace.progress.length > 0
      ? [`progress  ${trace.progress.map(({ fraction, text }) => `${Math.round(fraction * 100)} %${text ? ` ${text}` : ''}`).join(', ')}`]
      : []),
    `log       ${counted(trace.log.length, 'line')}`,
    ...trace.log.map(({ level, message, data }) => `  ${level.padEnd(5)}  ${message}${data === null ? '' : ` ${JSON.stringify(data)}`}`),
    ...trace.warnings.map((warning) => `! ${warning}`),
  ]
}

const FAILED = ['red', '✖'] as const

export const replay: ToolCommand = {
  name: 'replay',
  usage: '<call.json>',
  summary: 'repeats a saved call and shows the result',
  about:
    'A call is { "method", "input", "config", "userConfig", "library", "auth", "fixtures" }: library is the library of the user, as a list of series, of which recommendations see what the manifest asks for; auth is the state of the credentials; fixtures is the name of a file in fixtures/, or its content; without it, requests go to the real service. The answer is shown as a server would read it, except that an invalid item of a list fails the call: a server leaves out that item.',
  flags: [{ name: 'json', isSwitch: true, about: 'Prints { answer | code, message, source, trace } as JSON.' }, ALLOW_LOCAL, CREDENTIALS],
  run: (input) =>
    withCall(input, async ({ built, call, session, unmatched }) => {
      const { out, isOn } = input
      const outcome = await session.call(call.method, call.input).catch(asCallProblem)
      const { trace } = outcome
      const hasFailed = outcome instanceof CallProblem
      if (isOn('json')) {
        out.line(
          JSON.stringify(
            hasFailed ? { code: outcome.code, message: outcome.message, source: outcome.source, trace } : { answer: outcome.answer, trace },
            null,
            2,
          ),
        )
        return hasFailed || unmatched.length > 0 ? 1 : 0
      }
      out.line(out.paint('bold', `${built.manifest.id} ${built.manifest.version}  ${call.method}`))
      for (const line of describeTrace(trace, budgetOf(requestedPermissions(built.manifest), call.method)))
        for (const part of messageLines(line)) out.line(part)
      out.line()
      if (hasFailed) printMessage(out, FAILED, describeProblem(outcome))
      else for (const line of JSON.stringify(outcome.answer, null, 2).split('\n').flatMap(messageLines)) out.line(line)
      for (const request of new Set(unmatched))
        printMessage(out, FAILED, `No fixture matches ${request}. If the call is in ${CALLS_FOLDER}/, record it: ${typedRecord([request])}`)
      const bare = call.fixtures === null ? missingCredentials(input, built.manifest) : null
      if (bare !== null) printMessage(out, ['yellow', '!'], bare)
      return hasFailed || unmatched.length > 0 ? 1 : 0
    }),
}

const CALLS = 100
const CALLS_MAX = 100_000
/** The first calls compile the code and are not measured. */
const WARM_UP = 5

/** A histogram counts whole numbers from 1. */
const microseconds = (ms: number): number => Math.max(1, Math.round(ms * 1000))

export const bench: ToolCommand = {
  name: 'bench',
  usage: '<call.json>',
  summary: 'repeats a saved call many times and measures it',
  about: `Makes a saved call ${CALLS} times in one sandbox, after ${WARM_UP} warm-up calls, and prints the median and the 95th percentile. The call must have fixtures, because benchmarks must not load real services.`,
  flags: [{ name: 'calls', value: 'number', about: `Number of calls; default ${CALLS}.` }],
  run: (input) =>
    withCall(input, async ({ built, call, session, unmatched }) => {
      const { out, flag, stop } = input
      const calls = readCount(flag('calls'), { flag: 'calls', unless: CALLS, max: CALLS_MAX })
      if (call.fixtures === null)
        throw new ToolProblem(`${call.name} has no fixtures, so each of ${calls} calls would ask the service itself. Give it some.`)
      const wall = createHistogram()
      const cpu = createHistogram()
      for (let turn = 0; turn < calls + WARM_UP && !stop.aborted; turn++) {
        const { trace } = await session.call(call.method, call.input).catch((error: unknown) => {
          if (error instanceof CallProblem) throw new ToolProblem(`Call ${turn + 1} ended with ${describeProblem(error)}`)
          throw error
        })
        if (unmatched[0] !== undefined) throw new ToolProblem(`No fixture matches ${unmatched[0]}.`)
        if (turn < WARM_UP) continue
        wall.record(microseconds(trace.wallMs))
        cpu.record(microseconds(trace.cpuMs))
      }
      const { cpuMs, wallMs } = budgetOf(requestedPermissions(built.manifest), call.method)
      out.line(out.paint('bold', `${call.method}  ${counted(wall.count, 'call')} of ${call.name}`))
      for (const [name, values, of] of [
        ['took', wall, wallMs],
        ['computed', cpu, cpuMs],
      ] as const) {
        const [half, most] = [values.percentile(50) / 1000, values.percentile(95) / 1000]
        out.line(`  ${name.padEnd(9)} p50 ${half.toFixed(2).padStart(8)} ms   p95 ${most.toFixed(2).padStart(8)} ms   of ${of} ms`)
      }
      return 0
    }),
}
