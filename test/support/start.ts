// Starts one or several test files in this process: TEST_FILES='["test/…"]' node test/support/start.ts NUMBER
// tap names the folder of a test's fixtures by the arguments of its process: the number tells processes apart, and names of files would be too long.
import { registerHooks } from 'node:module'
import path from 'node:path'

const [first = '', ...others]: string[] = JSON.parse(process.env['TEST_FILES'] as string)
const domain = new URL('error-domain.ts', import.meta.url).href

const hooks = registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain' ? { url: domain, shortCircuit: true } : next(specifier, context),
})
await import('tap')
// Loading through a hook takes longer, and nothing else needs it.
hooks.deregister()
await import(others.length > 0 ? './batch.ts' : path.resolve(import.meta.dirname, '..', '..', first))
