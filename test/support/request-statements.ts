import type { Knex } from 'knex'
import { currentScope } from '#core/database/statement-scope.ts'

/** Tells the statements of requests, as they begin: the server itself runs others, whenever they are due. */
export function onRequestStatement(database: Knex, note: (sql: string) => void): void {
  database.on('query', ({ sql }: { sql: string }) => {
    if (currentScope() !== null) note(sql)
  })
}
