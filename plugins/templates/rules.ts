import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Explanation, Rules } from '#core/conditions/rules.ts'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Program } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

/** What is evaluated is refused before it takes a quarter of this; a cold isolate on a slow machine needs the rest. */
const CPU_MS = 1_000
/** A machine that is busy with everything at once gives a runner its turn late: the time on the clock is a guard, not a measure. */
const WALL_MS = 20_000
/** A context of the largest book, twice: it crosses as JSON, which is written and read on the main thread. */
const ARGUMENT_LENGTH_MAX = 2_000_000
/** Titles of one crossing, and the characters of all of them. */
const TITLES_MAX = 500

const require = createRequire(import.meta.url)

/** RE2 runs in the isolate alone: this process reads its source as a text. */
const program = (name: string): Program => ({
  name,
  place: 'templates',
  sources: [
    { name: 're2js.js', code: readFileSync(path.join(path.dirname(require.resolve('re2js')), 'index.umd.js'), 'utf8') },
    { name: 'rules.js', code: readFileSync(new URL('guest/rules/main.js', import.meta.url), 'utf8') },
  ],
  memoryMbMax: 64,
  load: { cpuMs: 1_000, wallMs: 10_000 },
  resultLengthMax: 1_000_000,
  concurrency: 1,
  queueMax: 64,
  restMs: 100,
})

/** Rules in isolates: one for what people try out, and one for what the server does by itself, so that neither waits for the other. */
export function openRules(supervisor: Supervisor): Rules & { close(): void } {
  const tried = supervisor.open(program('the rules that are tried'))
  const used = supervisor.open(program('the rules that are used'))

  async function rewriteTitles(rules: unknown, titles: readonly string[]): Promise<string[]> {
    if (!isAnyEnabled(rules)) return [...titles]
    const rewritten: string[] = []
    while (rewritten.length < titles.length) {
      const next = titles.slice(rewritten.length, rewritten.length + TITLES_MAX)
      rewritten.push(...(await ask<string[]>(used, 'rewriteSome', { rules, titles: next })))
    }
    return rewritten
  }

  return {
    checkCondition: (condition, path) => ask(tried, 'checkCondition', { condition, path }),
    explain: (condition, context, path) => ask<Explanation>(tried, 'explain', { condition, context, path }),
    passes: (condition, context) => ask<boolean>(used, 'passes', { condition, context }),
    checkTitleRules: (rules) => ask(tried, 'checkTitleRules', { rules }),
    rewriteTitles,
    applyTitleRules: async (rules, title) =>
      isAnyEnabled(rules) ? await ask(used, 'applyRules', { rules, title }) : { title, applied: 0 },
    close() {
      tried.close()
      used.close()
    },
  }
}

const isAnyEnabled = (rules: unknown) => Array.isArray(rules) && rules.some((rule: { enabled?: boolean }) => rule.enabled !== false)

/** @throws invalid_value for what the program refuses and for what takes too much; payload_too_large; unavailable */
async function ask<Result>(guest: Guest, name: string, given: object): Promise<Result> {
  const input = JSON.stringify(given)
  if (input.length > ARGUMENT_LENGTH_MAX) refuse('payload_too_large', 'The context is too large for rules to be tried on it.')
  let answer: { value: Result } | { refused: { message: string; details: unknown } }
  try {
    const { text } = await guest.call(name, input, { cpuMs: CPU_MS, wallMs: WALL_MS })
    answer = JSON.parse(text)
  } catch (error) {
    throw error instanceof GuestError ? refusalOf(error) : error
  }
  if ('refused' in answer) throw new CarrelError('invalid_value', answer.refused.message, { details: answer.refused.details })
  return answer.value
}

/** What took too much is the fault of the rules, what could not be served is ours. */
function refusalOf({ code, message }: GuestError): CarrelError {
  const tooMuch: Partial<Record<GuestError['code'], string>> = {
    cpu: `took more than ${CPU_MS} ms of computing time`,
    timeout: 'took too long',
    memory: 'needed too much memory',
    invalid_result: 'found more than can be answered',
  }
  if (tooMuch[code]) return new CarrelError('invalid_value', `The rules ${tooMuch[code]} and were stopped.`)
  const what = code === 'busy' ? 'Too many rules are being tried' : 'The rules could not be tried at the moment'
  return new CarrelError('unavailable', `${what}; try again shortly.`, { cause: message, retryAfterSeconds: 1 })
}
