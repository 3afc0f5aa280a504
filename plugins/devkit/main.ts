import { openOut } from './command.ts'
import { runCommandLine } from './command-line.ts'

/** 128 + SIGINT, as in shells. */
const QUIT_AT_ONCE = 130
/** One Ctrl-C may arrive several times: from the terminal, from npm and from the launcher. */
const SAME_SIGNAL_MS = 700

const stop = new AbortController()
let stoppedAt = 0
function askToStop(): void {
  const now = Date.now()
  if (stoppedAt === 0) {
    stoppedAt = now
    stop.abort()
  } else if (now - stoppedAt > SAME_SIGNAL_MS) process.exit(QUIT_AT_ONCE)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, askToStop)
// The launcher was killed: nobody else would stop this process.
process.on('disconnect', askToStop)
process.channel?.unref()

// Runners do not keep the event loop alive; this does until the command has ended.
const alive = setInterval(() => {}, 60_000)
process.exitCode = await runCommandLine(process.argv.slice(2), {
  cwd: process.cwd(),
  out: openOut(process.stdout),
  complain: (text) => void process.stderr.write(`${text}\n`),
  stop: stop.signal,
})
clearInterval(alive)
// Everything is closed; handles that a library left open must not delay the exit.
setTimeout(() => process.exit(), 2_000).unref()
