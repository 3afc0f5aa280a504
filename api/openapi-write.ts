import { writeFile } from 'node:fs/promises'
import { describeRoutes } from '#api/openapi.ts'
import { routes } from '#api/routes/index.ts'

const file = new URL('openapi.json', import.meta.url)
await writeFile(file, `${JSON.stringify(describeRoutes(routes), null, 2)}\n`)
