/** A client of bench/load-client.ts: gets what to load as a message, and answers with what it counted. */
import { countLoad } from '#bench/load.ts'

process.once('message', async (options: Parameters<typeof countLoad>[0]) => {
  const counted = await countLoad(options)
  process.send?.(counted, () => process.disconnect())
})
