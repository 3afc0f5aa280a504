/** What keeps us from starting and the person at the machine can mend: told in a sentence, without a stack. */
export class StartProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartProblem'
  }
}

/** A new database takes 40 MB; its log, and covers, come soon. */
const ROOM_NEEDED = 'Free some space there (1 GB is a good beginning), or choose another --data-dir.'

export const describeFullDisk = (folder: string): string => `The disk that holds ${folder} is full. ${ROOM_NEEDED}`

/** Why a program of PostgreSQL ended, in one sentence made of what it wrote last. */
export function describeLastWords(folder: string, lines: readonly string[], reason: string): string {
  const text = lines.join('\n')
  if (/No space left on device|Disk quota exceeded/.test(text)) return describeFullDisk(folder)
  const words = /^.*\b(?:FATAL|PANIC|ERROR): +(.*)$/m.exec(text)?.[1] ?? /^\S*(?:postgres|initdb): (?:error: )?(.*)$/m.exec(text)?.[1]
  return `${words ? `It says: ${words}` : `It says nothing, but ${reason}`}. All that it writes stands in the log with --log-level debug.`
}
