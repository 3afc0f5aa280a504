/** Analyzes one file with the real pool, prints the result, and then has no work left: `node analyzing-child.ts <path>`. */
import { fileAt } from '#test/support/file-at.ts'
import { openPool } from '#workers/pool/pool.ts'

const [path = ''] = process.argv.slice(2)
const pool = openPool({ threads: 1, memoryMbMax: 256, deadlineMs: 60_000 })
const { pageCount, problems } = await pool.analyze({ ...fileAt(path), verifyPages: false })
await pool.close()
process.stdout.write(JSON.stringify({ pageCount, problems }))
