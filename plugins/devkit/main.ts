import { receiveStopSignal } from '#core/foundation/stop-signal.ts'
import { askOn, outTo } from './command.ts'
import { runCommandLine } from './command-line.ts'

// Runners do not keep the event loop alive; this does until the command has ended.
const alive = setInterval(() => {}, 60_000)
const stop = receiveStopSignal()
process.exitCode = await runCommandLine(process.argv.slice(2), {
  cwd: process.cwd(),
  out: outTo(process.stdout),
  printError: (text) => void process.stderr.write(`${text}\n`),
  stop,
  ask: process.stdin.isTTY === true ? askOn(process.stdin, process.stderr, stop) : null,
})
clearInterval(alive)
// Everything is closed; handles that a library left open must not delay the exit.
setTimeout(() => process.exit(), 2_000).unref()
