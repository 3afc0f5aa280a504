/** The dialect that knex calls `pg`; the package includes no types for it. */
declare module 'knex/lib/dialects/postgres/index.js' {
  import type { Knex } from 'knex'

  export default class PostgresClient extends Knex.Client {
    /** Set on the client of a transaction, which inherits methods but no fields. */
    transacting?: true
    override query(connection: unknown, statement: unknown): Promise<unknown>
    override acquireConnection(): Promise<object>
    override releaseConnection(connection: object): Promise<void>
    override destroy(callback?: unknown): Promise<void>
  }
}
