import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import type { Log } from '#core/foundation/log.ts'
import { escapedLines, messageLines } from '#core/foundation/stranger-text.ts'
import type { DescribedCommand } from '#core/settings/command-line.ts'

/** A problem that the author can fix: shown as one sentence, without a stack. */
export class ToolProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ToolProblem'
  }
}

export interface ToolCommand extends DescribedCommand {
  /** Returns the exit code: 0, or 1 when a check failed. @throws ToolProblem */
  run(input: ToolInput): Promise<number>
}

export interface ToolInput {
  /** Relative file names are resolved against it. */
  cwd: string
  /** Folder of the plugin. */
  folder: string
  words: readonly string[]
  flag(name: string): string | undefined
  /** Every value of a repeatable flag. */
  all(name: string): readonly string[]
  isOn(name: string): boolean
  out: Out
  /** What the person on the terminal writes; null without a terminal. */
  readLine: ReadLine | null
  log: Log
  stop: AbortSignal
}

/** Null at the end of the input, and after Ctrl-C. */
export type ReadLine = (question: string) => Promise<string | null>

/** Whether the person types `yes`: only the whole word counts. The end of the input and Ctrl-C, which ends the command, are a no. */
export const agrees = async (readLine: ReadLine | null, question: string): Promise<boolean> =>
  (await readLine?.(question))?.trim().toLowerCase() === 'yes'

export function readLineOn(stdin: NodeJS.ReadableStream, output: NodeJS.WritableStream, stop: AbortSignal): ReadLine {
  return async (question) => {
    const lines = createInterface({ input: stdin, output })
    const ended = new AbortController()
    lines.once('close', () => ended.abort())
    // The terminal gives Ctrl-C to the question while it is open.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    try {
      return await lines.question(question, { signal: AbortSignal.any([stop, ended.signal]) })
    } catch {
      return null
    } finally {
      lines.close()
    }
  }
}

/** A command that a person has stopped does nothing more. @param undone what it has not done @throws ToolProblem */
export function checkStop({ stop }: Pick<ToolInput, 'stop'>, undone: string): void {
  if (stop.aborted) throw new ToolProblem(`Stopped. ${undone}`)
}

type Style = Parameters<typeof styleText>[0]

/** Output of a command. */
export interface Out {
  line(text?: string): void
  /** In color where the terminal supports it. */
  paint(style: Style, text: string): string
}

interface Stream extends NodeJS.WritableStream {
  isTTY?: boolean
  hasColors?(): boolean
}

/** The codes of colors, which `paint` writes. */
const COLORS = /(\u001b\[[0-9;]{1,20}m)/

/** Colors only on a terminal that supports them, and without NO_COLOR. Whatever else a line contains is escaped. */
export function outTo(stream: Stream): Out {
  const hasColors = stream.isTTY === true && stream.hasColors?.() === true
  return {
    line: (text = '') => {
      const parts = hasColors ? text.split(COLORS) : [text]
      stream.write(`${parts.map((part, at) => (at % 2 === 1 ? part : escapedLines(part))).join('')}\n`)
    },
    paint: (style, text) => (hasColors ? styleText(style, text, { validateStream: false }) : text),
  }
}

/** Prints a message with words of strangers in it after a painted sign; its further lines are indented. */
export function printMessage(out: Out, [style, sign]: readonly [Style, string], text: string): void {
  const [first = '', ...rest] = messageLines(`${sign} ${text}`)
  for (const line of [`${out.paint(style, sign)}${first.slice(sign.length)}`, ...rest]) out.line(line)
}

/** What codes of the system mean where the code alone does not say it. */
const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  EACCES: 'your user has no permission',
  EPERM: 'your user has no permission',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
}

/** Why a file cannot be read or written, for parentheses. @param error of the file system @param ofNone for a file that does not exist */
export function fileReason(error: unknown, ofNone = 'ENOENT'): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return ofNone
  return Object.hasOwn(REASONS, code) ? `${code}: ${REASONS[code]}` : code
}

/** `1 error`, `2 errors`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

export const kilobytes = (bytes: number): string =>
  bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(bytes < 102_400 ? 1 : 0)} KB`

/** The whole number in a flag. @throws ToolProblem */
export function readCount(text: string | undefined, limits: { flag: string; unless: number; min?: number; max: number }): number {
  const { flag, unless, min = 1, max } = limits
  if (text === undefined) return unless
  const value = Number(text)
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new ToolProblem(`--${flag} must be a whole number from ${min} to ${max}, not "${escapedLines(text)}".`)
}
