import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { type PostgresRunner, SEARCH_PATH } from '#core/embedded/postgres-binaries.ts'

/** A fast shutdown writes a checkpoint. After this time an immediate shutdown follows, after which the next start replays the log. */
const ORPHAN_FAST_SHUTDOWN_S = 10
/** For an immediate shutdown; a process that hangs longer waits for the disk, which no signal interrupts. */
const ORPHAN_IMMEDIATE_SHUTDOWN_S = 10
/** The descriptor whose other end only this process holds. */
const LIFELINE_FD = 3

/**
 * Becomes PostgreSQL and leaves a shell behind that waits until descriptor 3 is closed, which happens when this process ends, even by kill -9.
 * A shell, because it takes 1 MB where Node would take 40. Reparented, because PostgreSQL waits for each of its own children. Only a
 * process whose current directory is the cluster is PostgreSQL: another process may have received the pid.
 */
const SCRIPT = `
pid=$$
lives() { kill -0 $pid && [ /proc/$pid/cwd -ef . ]; }
stop() {
  lives || exit 0
  kill -$1 $pid
  turns=$2
  while [ $turns -gt 0 ]; do
    sleep 1
    lives || exit 0
    turns=$((turns - 1))
  done
}
watch() {
  trap '' HUP INT TERM QUIT
  exec >/dev/null 2>&1
  read -r word <&${LIFELINE_FD}
  [ "$word" = ended ] && exit 0
  stop INT ${ORPHAN_FAST_SHUTDOWN_S}
  stop QUIT ${ORPHAN_IMMEDIATE_SHUTDOWN_S}
}
(watch &)
exec "$@" ${LIFELINE_FD}<&-
`

/** In its own session, so that Ctrl-C in the terminal reaches only us, and we stop PostgreSQL when nothing needs it any more. */
const DETACHED = { detached: true, env: { PATH: SEARCH_PATH, LC_ALL: 'C', TZ: 'UTC' } } as const

const userOf = (runner: PostgresRunner) => (runner.uid === undefined ? {} : { uid: runner.uid, gid: runner.gid })
const commandOf = (runner: PostgresRunner, program: string, args: readonly string[]) =>
  [...runner.prefix, path.join(runner.binFolder, program), ...args] as [string, ...string[]]

/** Starts the PostgreSQL of `cluster`. It ends within seconds after this process ends, for whatever reason. */
export function launchPostgres(runner: PostgresRunner, cluster: string, args: readonly string[]): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', ...commandOf(runner, 'postgres', args)], {
    ...DETACHED,
    ...userOf(runner),
    cwd: cluster,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const lifeline = child.stdio[LIFELINE_FD] as Duplex | null
  // The watching shell may have been killed already.
  lifeline?.on('error', () => {})
  child.once('exit', () => lifeline?.end('ended\n'))
  return child
}

/** Runs one of PostgreSQL's programs, like initdb, until it exits. */
export function launchProgram(runner: PostgresRunner, program: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = commandOf(runner, program, args)
  return spawn(command, rest, { ...DETACHED, ...userOf(runner), cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
}
