/** A problem that prevents the start and that the operator can solve: reported as one sentence, without a stack trace. */
export class StartProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartProblem'
  }
}

/** A new database takes 40 MB; its log, and covers, come soon. */
const ROOM_NEEDED = 'Free some space there (at least 1 GB), or choose another --data-dir.'

export const describeFullDisk = (folder: string): string => `The disk of ${folder} is full. ${ROOM_NEEDED}`

/** What PostgreSQL says when /dev/shm has no room: at its start, and for statements that several processes share. The code is that of a full disk. */
export const SHARED_MEMORY_WORDS = /could not resize shared memory segment/

export const FULL_MEMORY =
  'The shared memory of PostgreSQL (/dev/shm) is full or too small. Give it at least 256 MB: in a container by "docker run --shm-size=256m", or "shm_size: 256mb" in compose.yaml.'

/** Why a program of PostgreSQL ended, in one sentence made from its last output. */
export function describeLastWords(folder: string, lines: readonly string[], reason: string): string {
  const text = lines.join('\n')
  if (SHARED_MEMORY_WORDS.test(text)) return FULL_MEMORY
  if (/No space left on device|Disk quota exceeded/.test(text)) return describeFullDisk(folder)
  const outputLines = text.split('\n')
  const words =
    outputLines.map(severeWordsOf).find((found) => found !== null) ?? outputLines.map(plainWordsOf).find((found) => found !== null)
  return `${words ? `It reports: ${words}` : `It reports nothing, but ${reason}`}. With --log-level debug, all of its output is in the log.`
}

/** The text after the level that the server gave a line; null when there is none, or a harmless one. */
function severeWordsOf(line: string): string | null {
  const level = /\b(?:FATAL|PANIC|ERROR): /.exec(line)
  return level && line.slice(level.index + level[0].length).trimStart()
}

/** The text of a line that a program of PostgreSQL wrote under its own name. */
function plainWordsOf(line: string): string | null {
  const [name = '', ...rest] = line.split(': ')
  if (rest.length === 0 || name.includes(' ') || !/(?:postgres|initdb)$/.test(name)) return null
  return rest.slice(rest[0] === 'error' ? 1 : 0).join(': ')
}
