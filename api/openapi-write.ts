import { writeFile } from 'node:fs/promises'
import { describeRoutes } from '#api/docs/openapi.ts'
import { routes } from '#api/routes.ts'

const file = new URL('docs/openapi.json', import.meta.url)
await writeFile(file, `${JSON.stringify(describeRoutes(routes), null, 2)}\n`)
