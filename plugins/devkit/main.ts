import { receiveStopSignal } from '#core/foundation/stop-signal.ts'
import { outTo, readLineOn } from './command.ts'
import { runCommandLine } from './command-line.ts'

// Runners do not keep the event loop alive; this does until the command has ended.
const alive = setInterval(() => {}, 60_000)
const stop = receiveStopSignal()
const { stdin, stderr } = process
// Whoever reads the output, such as `head`, may have enough of it.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
// Nobody reads messages; the command itself goes on, and its exit code says how it ended.
stderr.on('error', () => {})
process.exitCode = await runCommandLine(process.argv.slice(2), {
  cwd: process.cwd(),
  out: outTo(process.stdout),
  printError: (text) => void process.stderr.write(`${text}\n`),
  stop,
  readLine: stdin.isTTY === true ? readLineOn(stdin, stderr, stop) : null,
})
clearInterval(alive)
// Everything is closed; handles that a library left open must not delay the exit.
setTimeout(() => process.exit(), 2_000).unref()
