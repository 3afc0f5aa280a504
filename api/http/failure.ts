import { sendError } from '#api/http/answer.ts'
import { discardBody } from '#api/http/body.ts'
import { BrokenTransfer } from '#api/http/broken-transfer.ts'
import { errorAnswer, internalAnswer } from '#api/http/errors.ts'
import type { Exchange } from '#api/http/exchange.ts'
import type { ErrorAnswer } from '#api/http/reply.ts'
import { NAME } from '#api/http/version.ts'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'

/** The challenges of a 401 (RFC 7617, RFC 6750). */
export const BASIC = 'Basic realm="Carrel", charset="UTF-8"'
const BEARER = 'Bearer realm="Carrel"'

/**
 * Ends a failed exchange: with an error response or, if the response has begun, by closing the connection, the only way left to say
 * "incomplete". Logs unexpected errors. Never throws, although anything may have been thrown, including values that throw when read.
 * @param readName reads the name of the library
 */
export async function answerFailure(
  exchange: Exchange<never>,
  error: unknown,
  { log, readName }: { log: Log; readName: () => Promise<string> },
): Promise<void> {
  const { request, response, id, route, mount } = exchange
  const answer = errorAnswer(error, id)
  writeLine(exchange, error, answer, log)
  try {
    if (response.headersSent || response.destroyed || request.socket.destroyed) {
      response.destroy()
      return
    }
    const dialect = mount?.dialect
    if (answer.status === 401) response.setHeader('WWW-Authenticate', dialect?.challenge ?? (route?.allow.basic ? BASIC : BEARER))
    discardBody(request)
    // Details that cannot be written as JSON must not prevent the response.
    const refused = { request, path: exchange.path, origin: exchange.origin, readName: () => readName().catch(() => NAME) }
    const send = async (sent: ErrorAnswer) =>
      sendError(response, sent, dialect && sent.status !== 429 ? await dialect.refusalOf(sent, refused) : undefined)
    await send(answer).catch(() => send(internalAnswer(id)))
  } catch (failure) {
    response.destroy()
    writeLine(exchange, failure, internalAnswer(id), log)
  }
}

function writeLine({ request, response, route, path, id }: Exchange<never>, error: unknown, answer: ErrorAnswer, log: Log): void {
  const fields = { requestId: id, method: request.method, path, route: route?.path }
  try {
    // Most of these failed only because the client disconnected.
    if (response.destroyed) log.debug({ ...fields, error }, 'A request failed after its client had disconnected')
    else if (error instanceof BrokenTransfer) log.warn({ ...fields, error }, 'A transfer was aborted because its content changed')
    else if (answer.status === 500) log.error({ ...fields, error }, 'A request failed')
    else if (answer.status === 503 && !(error instanceof AppError)) log.warn({ ...fields, error }, 'A request failed because of an outage')
    else if (response.headersSent) log.warn({ ...fields, error }, 'An answer was ended in its middle')
    else if (error instanceof AppError && error.cause !== undefined) log.debug({ ...fields, error }, 'A request was refused')
  } catch {
    writeBareLine(fields, log)
  }
}

/** For an error that throws when it is read. */
function writeBareLine(fields: object, log: Log): void {
  try {
    log.error(fields, 'A request failed with an error that cannot be logged')
  } catch {
    // A failing log must not prevent the response.
  }
}
