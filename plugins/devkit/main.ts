import { openStopSignal } from '#core/foundation/stop-signal.ts'
import { openOut } from './command.ts'
import { runCommandLine } from './command-line.ts'

// Runners keep nobody waiting for them; until the command has its answer, this does.
const alive = setInterval(() => {}, 60_000)
process.exitCode = await runCommandLine(process.argv.slice(2), {
  cwd: process.cwd(),
  out: openOut(process.stdout),
  complain: (text) => void process.stderr.write(`${text}\n`),
  stop: openStopSignal(),
})
clearInterval(alive)
// Everything was closed; what a library may have left open must not keep us.
setTimeout(() => process.exit(), 2_000).unref()
