/**
 * Loaded into the server before its program (`node --import`): counts the round trips to the database. Each statement is one, as are BEGIN and COMMIT. All
 * connections are those of one driver, so that it counts the statements of the task queue too. The server's own threads have no connections.
 */
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const { Client } = (await import('pg')).default
  const prototype = Client.prototype as { query: (...given: unknown[]) => unknown }
  const { query } = prototype
  const counts = new Map<string, number>()
  prototype.query = function (this: unknown, ...given) {
    const [statement] = given
    const text = typeof statement === 'string' ? statement : String((statement as { text?: string } | null)?.text)
    // Long enough to tell statements apart.
    const key = text.slice(0, 200).replaceAll(/\s+/g, ' ')
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return query.apply(this, given)
  }
  process.on('message', (message) => {
    if (message === 'statements') process.send?.({ statements: [...counts] })
  })
}
