import pino from 'pino'
import type { Log } from '#core/foundation/log.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { Settings } from '#core/settings/settings.ts'

/** Removed from every log line, in case code passes them by mistake. */
const SECRET_FIELDS = ['password', 'token', 'accessToken', 'refreshToken', 'key', 'authorization', 'cookie']
/** Deeper frames of a stack add nothing. */
const STACK_LINES_MAX = 12
const LABELS: Record<number, string> = { 20: 'debug ', 30: '', 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' }

/** A pino logger that writes JSON lines, or lines for people made from them. */
export function newLogger(settings: Settings['log'], write: (line: string) => void): Log {
  const options: pino.LoggerOptions = {
    level: settings.level,
    // Without pid and host name, which are the same in every line.
    base: undefined,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '(hidden)' },
    serializers: { err: pino.stdSerializers.err, error: pino.stdSerializers.err, cause: pino.stdSerializers.err },
  }
  return pino(options, { write: settings.format === 'json' ? write : (line: string) => write(formatLine(line)) })
}

/** Formats a JSON line of pino for people: time, level if not info, message, fields; errors with their stack below. */
export function formatLine(line: string): string {
  const { level, time, msg, err, error, ...fields } = JSON.parse(line) as Record<string, unknown> & {
    level: number
    time: number
    msg?: string
  }
  const parts = [`${clock(time)}  ${LABELS[level] ?? ''}${escapedText(msg ?? '')}`]
  for (const [name, value] of Object.entries(fields))
    parts.push(escapedText(`${name}=${typeof value === 'string' ? quote(value) : JSON.stringify(value)}`))
  const below = [err, error].filter((each) => each !== undefined).map((each) => `\n${indent(describeError(each, level))}`)
  return `${parts.join('  ')}${below.join('')}\n`
}

function clock(time: number): string {
  const date = new Date(time)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

function quote(text: string): string {
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}

function describeError(error: unknown, level: number): string {
  const { message, stack } = (typeof error === 'object' && error !== null ? error : { message: String(error) }) as {
    message?: string
    stack?: string
  }
  // A warning is about the environment; only an error needs the position in the code.
  if (level < 50 || !stack) return message ?? JSON.stringify(error)
  return stack.split('\n').slice(0, STACK_LINES_MAX).join('\n')
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `          ${escapedText(line)}`)
    .join('\n')
}
