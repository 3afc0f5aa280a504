/** The part of a structured logger that core needs; the composition root gives a pino one. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** For tests and tools that want silence. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
