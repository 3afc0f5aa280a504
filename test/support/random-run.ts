import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Runs one test file over random values, alone, and ends with its exit code. Its size and seed come from the command line, and reach it as
 * environment variables.
 * @param run.size the name of the size
 * @param run.prefix of the variables, such as FUZZ for FUZZ_COUNT and FUZZ_SEED
 * @param run.example of the command, for messages
 */
export function runRandom(run: { file: string; size: string; standard: number; prefix: string; example: string }): never {
  const { values } = parseArgs({ options: { [run.size]: { type: 'string', default: String(run.standard) }, seed: { type: 'string' } } })
  const numbers = Object.entries(values as Record<string, string>)
  const wrong = numbers.find(([, value]) => !/^\d{1,9}$/.test(value))
  if (wrong || Number(values[run.size]) === 0) {
    console.error(`--${wrong?.[0] ?? run.size} takes a whole number, and --${run.size} more than 0: ${run.example}`)
    process.exit(1)
  }
  const { status } = spawnSync(process.execPath, [path.join(import.meta.dirname, '..', 'run.ts'), '--reporter=tap', run.file], {
    stdio: 'inherit',
    env: { ...process.env, ...Object.fromEntries(numbers.map(([name, value]) => [`${run.prefix}_${name.toUpperCase()}`, value])) },
  })
  process.exit(status ?? 1)
}
