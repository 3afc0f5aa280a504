import pg from 'pg'

/** Filled by the scan of a new library. */
const TABLES = ['series', 'books'] as const

interface CopiedTable {
  table: string
  columns: string
  chunks: Buffer[]
}

/** What the connections of pg have and their types lack. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

async function run(client: pg.Client, text: string, handlers: object): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const query = new pg.Query(text, [], ((error?: Error) => (error ? reject(error) : resolve())) as never)
    client.query(Object.assign(query, handlers))
  })
}

/** The rows as COPY sends them; without columns that PostgreSQL computes. */
export async function copyOut(client: pg.Client): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of TABLES) {
    const { rows } = await client.query(
      `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
      [table],
    )
    const chunks: Buffer[] = []
    const [{ columns }] = rows as [{ columns: string }]
    await run(client, `COPY ${table} (${columns}) TO STDOUT`, {
      handleCopyData: ({ chunk }: { chunk: Buffer }) => void chunks.push(Buffer.from(chunk)),
    })
    copied.push({ table, columns, chunks })
  }
  return copied
}

/** Copies the rows into the same tables without indexes beyond the key, and removes these. @returns milliseconds */
export async function copyIn(client: pg.Client, copied: readonly CopiedTable[]): Promise<number> {
  let ms = 0
  for (const { table, columns, chunks } of copied) {
    await client.query(
      `CREATE TABLE bare_${table} (LIKE ${table} INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING CONSTRAINTS, PRIMARY KEY (id))`,
    )
    const begun = performance.now()
    await run(client, `COPY bare_${table} (${columns}) FROM STDIN`, {
      handleCopyInResponse: (connection: CopyConnection) => {
        for (const chunk of chunks) connection.sendCopyFromChunk(chunk)
        connection.endCopyFrom()
      },
    })
    ms += performance.now() - begun
    await client.query(`DROP TABLE bare_${table}`)
  }
  return ms
}
