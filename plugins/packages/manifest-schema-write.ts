import { writeFile } from 'node:fs/promises'
import { describeManifest } from '#plugins/packages/manifest-schema.ts'

const file = new URL('../../plugin-sdk/manifest.schema.json', import.meta.url)
await writeFile(file, `${JSON.stringify(describeManifest(), null, 2)}\n`)
