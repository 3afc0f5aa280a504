// @ts-check
// Loads all code of the server and its threads, then ends: see compile-cache.mjs. Modules that the server loads later must be listed
// here too.
import fs from 'node:fs'

const MODULES = [
  'api/main.ts',
  'api/compose.ts',
  'api/server.ts',
  'core/covers/clear-cover-orphans.ts',
  'core/scan/add-library.ts',
  'plugins/packages/bundled-plugins.ts',
  'workers/pool/thread.ts',
  'workers/formats/analyze.ts',
  'workers/formats/epub/epub.ts',
  'workers/formats/pdf/pdf.ts',
  'workers/formats/rar/rar-page.ts',
  'workers/metadata/reading-list.ts',
  // Thread programs fail without a parent, but only after loading.
  'api/cli/watchdog-thread.ts',
  'core/scan/walk-thread.ts',
  'plugins/host/json-thread.ts',
  'plugins/packages/package-thread.ts',
  'plugins/repositories/index-thread.ts',
]

const root = new URL('../', import.meta.url)
const migrations = fs.readdirSync(new URL('migrations/', root)).filter((name) => name.endsWith('.ts'))
// With this argument main.ts prints its version and ends.
process.argv.splice(2, process.argv.length, '--version')
await Promise.allSettled([...MODULES, ...migrations.map((name) => `migrations/${name}`)].map((name) => import(new URL(name, root).href)))
process.exit(0)
