// Reads damaged books, the same for the same seed: npm run test:fuzz -- --count 10000 --seed 7
import { runRandom } from '#test/support/random-run.ts'

const example = 'npm run test:fuzz -- --count 10000 --seed 7'
runRandom({ file: 'test/end-to-end-damaged-books.test.ts', size: 'count', standard: 10_000, prefix: 'FUZZ', example })
