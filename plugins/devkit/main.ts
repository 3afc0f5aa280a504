import { openOut } from './command.ts'
import { runCommandLine } from './command-line.ts'

/** 128 + SIGINT, as shells say it. */
const QUIT_AT_ONCE = 130
/** One Ctrl-C may arrive several times, from the terminal, from npm and from the launcher. */
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
// The launcher was killed outright: nobody would ever stop us.
process.on('disconnect', askToStop)
process.channel?.unref()

// Runners keep nobody waiting for them; until the command has its answer, this does.
const alive = setInterval(() => {}, 60_000)
process.exitCode = await runCommandLine(process.argv.slice(2), {
  cwd: process.cwd(),
  out: openOut(process.stdout),
  complain: (text) => void process.stderr.write(`${text}\n`),
  stop: stop.signal,
})
clearInterval(alive)
// Everything was closed; what a library may have left open must not keep us.
setTimeout(() => process.exit(), 2_000).unref()
