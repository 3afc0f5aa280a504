// Reads damaged books, the same for the same seed: npm run test:fuzz -- --count 10000 --seed 7
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { count: { type: 'string', default: '10000' }, seed: { type: 'string' } } })
const numbers = Object.entries(values)
const wrong = numbers.find(([, value]) => !/^\d{1,9}$/.test(value))
if (wrong || Number(values.count) === 0) {
  console.error(`--${wrong?.[0] ?? 'count'} takes a whole number, of books more than 0: npm run test:fuzz -- --count 10000 --seed 7`)
  process.exit(1)
}
const { status } = spawnSync(
  process.execPath,
  [path.join(import.meta.dirname, 'run.ts'), '--reporter=tap', 'test/end-to-end-damaged-books.test.ts'],
  {
    stdio: 'inherit',
    env: { ...process.env, ...Object.fromEntries(numbers.map(([name, value]) => [`FUZZ_${name.toUpperCase()}`, value])) },
  },
)
process.exit(status ?? 1)
