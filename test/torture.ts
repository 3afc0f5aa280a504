// Changes two libraries at random, the same way for the same seed: npm run test:torture -- --steps 5000 --seed 7
import { runRandom } from '#test/support/random-run.ts'

const example = 'npm run test:torture -- --steps 5000 --seed 7'
runRandom({ file: 'test/torture.test.ts', size: 'steps', standard: 5_000, prefix: 'TORTURE', example })
