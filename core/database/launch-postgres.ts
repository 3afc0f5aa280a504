import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { type PostgresRunner, SEARCH_PATH } from '#core/database/postgres-binaries.ts'

/** A fast shutdown writes a checkpoint. Beyond this an immediate one follows, after which the next start replays the log. */
const ORPHAN_FAST_SHUTDOWN_S = 10
/** For an immediate shutdown; what hangs longer waits for the disk, and no signal ends that. */
const ORPHAN_IMMEDIATE_SHUTDOWN_S = 10
/** The descriptor whose other end this process alone holds. */
const LIFELINE_FD = 3

/**
 * Becomes PostgreSQL and leaves a shell behind that waits for the end of descriptor 3, which comes when this process ends, by kill -9 too.
 * A shell, because it takes 1 MB where Node would take 40. Nobody's child, because PostgreSQL asks after each child of its own. Only a
 * process that stands in the cluster is PostgreSQL: the number may have been given to another one.
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

/** In its own session, so that Ctrl-C in the terminal reaches us alone and we stop it when nobody needs it any more. */
const DETACHED = { detached: true, env: { PATH: SEARCH_PATH, LC_ALL: 'C', TZ: 'UTC' } } as const

const userOf = (runner: PostgresRunner) => (runner.uid === undefined ? {} : { uid: runner.uid, gid: runner.gid })
const commandOf = (runner: PostgresRunner, program: string, args: readonly string[]) =>
  [...runner.prefix, path.join(runner.binFolder, program), ...args] as [string, ...string[]]

/** Starts the PostgreSQL of `cluster`. It ends within seconds when this process ends, however that comes about. */
export function launchPostgres(runner: PostgresRunner, cluster: string, args: readonly string[]): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', ...commandOf(runner, 'postgres', args)], {
    ...DETACHED,
    ...userOf(runner),
    cwd: cluster,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const lifeline = child.stdio[LIFELINE_FD] as Duplex | null
  // The watching shell may have been killed before.
  lifeline?.on('error', () => {})
  child.once('exit', () => lifeline?.end('ended\n'))
  return child
}

/** Runs one of PostgreSQL's programs to its end, like initdb. */
export function launchProgram(runner: PostgresRunner, program: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = commandOf(runner, program, args)
  return spawn(command, rest, { ...DETACHED, ...userOf(runner), cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
}
