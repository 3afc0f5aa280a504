// Loads all code that the server and its threads run, and ends: see compile-cache.mjs. What is loaded later, while the server runs, has to stand
// here too.
import fs from 'node:fs'

const MODULES = [
  'api/main.ts',
  'api/compose.ts',
  'api/server.ts',
  'core/metadata/clear-cover-orphans.ts',
  'core/ingest/add-library.ts',
  'plugins/packages/bundled-plugins.ts',
  'workers/pool/thread.ts',
  'workers/formats/analyze.ts',
  'workers/formats/epub/epub.ts',
  'workers/formats/pdf/pdf.ts',
  'workers/formats/rar/rar-page.ts',
  'workers/metadata/reading-list.ts',
  // Threads that find nobody who has started them fail, after they were loaded.
  'core/foundation/watchdog-thread.ts',
  'core/ingest/walk-thread.ts',
  'plugins/host/json-thread.ts',
  'plugins/packages/package-thread.ts',
  'plugins/repositories/index-thread.ts',
]

const root = new URL('../', import.meta.url)
const migrations = fs.readdirSync(new URL('migrations/', root)).filter((name) => name.endsWith('.ts'))
// With this main.ts says which version it is and is done.
process.argv.splice(2, process.argv.length, '--version')
await Promise.allSettled([...MODULES, ...migrations.map((name) => `migrations/${name}`)].map((name) => import(new URL(name, root).href)))
process.exit(0)
