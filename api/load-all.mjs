// Loads all code that the server and its threads run, and ends: see compile-cache.mjs. What is loaded later, while the server runs, has to stand
// here too.
import fs from 'node:fs'

const MODULES = [
  'api/main.ts',
  'api/composition.ts',
  'api/server.ts',
  'core/cover/clear-leftovers.ts',
  'core/library/add-library.ts',
  'plugins/bundled/bundled.ts',
  'workers/thread.ts',
  'workers/epub.ts',
  'workers/pdf.ts',
  'workers/rar-page.ts',
  'workers/reading-list.ts',
  // Threads that find nobody who has started them fail, after they were loaded.
  'core/foundation/watchdog-thread.ts',
  'core/library/walk-thread.ts',
  'plugins/host/json-thread.ts',
  'plugins/package/package-thread.ts',
  'plugins/repository/index-thread.ts',
]

const root = new URL('../', import.meta.url)
const migrations = fs.readdirSync(new URL('migrations/', root)).filter((name) => name.endsWith('.ts'))
// With this main.ts says which version it is and is done.
process.argv.splice(2, process.argv.length, '--version')
await Promise.allSettled([...MODULES, ...migrations.map((name) => `migrations/${name}`)].map((name) => import(new URL(name, root).href)))
process.exit(0)
