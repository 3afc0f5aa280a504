import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Explanation, Rules } from '#core/conditions/rules.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Program } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

/** Rules are refused before they take a quarter of this; a cold isolate on a slow machine needs the rest. */
const CPU_MS = 1_000
/** On a busy machine a runner gets the processor late: the wall time is only a safeguard. */
const WALL_MS = 20_000
/** Twice the context of the largest book: it is transferred as JSON, which the main thread writes and parses. */
const ARGUMENT_LENGTH_MAX = 2_000_000
/** Titles in one transfer, and their total characters. */
const TITLES_MAX = 500

const require = createRequire(import.meta.url)

/** RE2 runs only in the isolate: this process reads its source as text. */
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

/** Rules in isolates: one for rules that users test, and one for the server's own work, so that neither waits for the other. */
export function openRules(supervisor: Supervisor): Rules & { close(): void } {
  const tried = supervisor.open(program('rules under test'))
  const used = supervisor.open(program('rules in use'))

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

/** @throws invalid_value when the program refuses the rules or they exceed a limit; payload_too_large; unavailable */
async function ask<Result>(guest: Guest, name: string, given: object): Promise<Result> {
  const input = JSON.stringify(given)
  if (input.length > ARGUMENT_LENGTH_MAX) refuse('payload_too_large', 'The context is too large for testing rules.')
  let answer: { value: Result } | { refused: { message: string; details: unknown } }
  try {
    const { text } = await guest.call(name, input, { cpuMs: CPU_MS, wallMs: WALL_MS })
    answer = JSON.parse(text)
  } catch (error) {
    throw error instanceof GuestError ? refusalOf(error) : error
  }
  if ('refused' in answer) throw new AppError('invalid_value', answer.refused.message, { details: answer.refused.details })
  return answer.value
}

/** The rules cause exceeded limits; the server causes unavailability. */
function refusalOf({ code, message }: GuestError): AppError {
  const tooMuch: Partial<Record<GuestError['code'], string>> = {
    cpu: `took more than ${CPU_MS} ms of CPU time`,
    timeout: 'took too long',
    memory: 'needed too much memory',
    invalid_result: 'produced too large a result',
  }
  if (tooMuch[code]) return new AppError('invalid_value', `The rules ${tooMuch[code]} and were stopped.`)
  const what = code === 'busy' ? 'Too many rules are being evaluated' : 'The rules could not be evaluated at the moment'
  return new AppError('unavailable', `${what}. Try again shortly.`, { cause: message, retryAfterSeconds: 1 })
}
