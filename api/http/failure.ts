import { sendError } from '#api/http/answer.ts'
import { discardBody } from '#api/http/body.ts'
import { BrokenTransfer } from '#api/http/broken-transfer.ts'
import { answerOf, type ErrorAnswer, internalAnswer } from '#api/http/errors.ts'
import type { Exchange } from '#api/http/exchange.ts'
import { CarrelError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'

/** The challenges of a 401 (RFC 7617, RFC 6750). */
export const BASIC = 'Basic realm="Carrel", charset="UTF-8"'
const BEARER = 'Bearer realm="Carrel"'

/**
 * Ends an exchange that failed: with an answer, or where one has begun by hanging up, which is all that still says "incomplete". What is
 * not a refusal has a line in the log. Never throws, whatever was thrown: it may be no error at all, or throw when it is looked at.
 */
export async function answerFailure(exchange: Exchange<never>, error: unknown, log: Log): Promise<void> {
  const { request, response, id, route, mount } = exchange
  const answer = answerOf(error, id)
  writeLine(exchange, error, answer, log)
  try {
    if (response.headersSent || response.destroyed || request.socket.destroyed) {
      response.destroy()
      return
    }
    const dialect = mount?.dialect
    if (answer.status === 401) response.setHeader('WWW-Authenticate', dialect?.challenge ?? (route?.allow.basic ? BASIC : BEARER))
    discardBody(request)
    // Details of a refusal that are not JSON must not cost the answer.
    const say = (said: ErrorAnswer) =>
      sendError(response, said, dialect && said.status !== 429 ? dialect.refusalOf(said, exchange) : undefined)
    await say(answer).catch(() => say(internalAnswer(id)))
  } catch (failure) {
    response.destroy()
    writeLine(exchange, failure, internalAnswer(id), log)
  }
}

function writeLine({ request, response, route, path, id }: Exchange<never>, error: unknown, answer: ErrorAnswer, log: Log): void {
  const fields = { requestId: id, method: request.method, path, route: route?.path }
  try {
    // Most of what fails then fails because nobody is there any more.
    if (response.destroyed) log.debug({ ...fields, error }, 'A request failed whose client had gone')
    else if (error instanceof BrokenTransfer) log.warn({ ...fields, error }, 'A transfer was broken off: what was being sent has changed')
    else if (answer.status === 500) log.error({ ...fields, error }, 'A request failed')
    else if (answer.status === 503 && !(error instanceof CarrelError)) log.warn({ ...fields, error }, 'A request met a fault below')
    else if (error instanceof CarrelError && error.cause !== undefined) log.debug({ ...fields, error }, 'A request was refused')
  } catch {
    writeBareLine(fields, log)
  }
}

/** For an error that throws when it is read. */
function writeBareLine(fields: object, log: Log): void {
  try {
    log.error(fields, 'A request failed with an error that cannot be written down')
  } catch {
    // A log that fails is no reason to leave the client without an answer.
  }
}
