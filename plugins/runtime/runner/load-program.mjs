// @ts-check
import { readFileSync } from 'node:fs'

/**
 * @typedef {object} Sources
 * @property {string} name for stack traces
 * @property {string} code a classic script, or a module
 * @property {boolean} [module] its default export is what a plugin defines; it imports nothing
 *
 * @typedef {object} Limits
 * @property {number} memoryMbMax JavaScript heap
 * @property {number} loadCpuMs
 * @property {number} loadWallMs
 * @property {boolean} isPlugin whether it gets the globals of plugins
 * @property {number} resultLength characters of a result as JSON
 * @property {Record<string, number>} requestLengths characters of a request to the server as JSON, by kind
 * @property {string[]} methods paths of the functions that a plugin may define
 * @property {number} hostCalls requests of one call to the server
 * @property {number} inFlight of them at a time
 * @property {number} logLines of one call
 * @property {number} logLength characters of them
 * @property {boolean} [isInspected] whether it can be debugged, and waits for `begin`
 * @property {boolean} [isTraced] whether long calls are watched from the beginning, and pending timers have places
 *
 * @typedef {import('isolated-vm').Isolate} Isolate
 * @typedef {import('isolated-vm').Context} Context
 * @typedef {import('isolated-vm').Reference<any>} Reference
 *
 * @typedef {object} Program the handles for running sources in an isolate
 * @property {Isolate} isolate
 * @property {Context} context
 * @property {Reference} entry
 * @property {{ timeout?: number }} options of every entry
 * @property {<Result>(entry: Promise<Result>) => Promise<Result>} enter
 */

/** @param {string} name of a script of ours, built by `plugins/runtime/guest/build.mjs` */
const sourceOf = (name) => ({ name: `${name}.js`, code: readFileSync(new URL(`bundled/${name}/main.js`, import.meta.url), 'utf8') })
const PRELUDE = sourceOf('prelude')
const WEB = sourceOf('web')

/** V8's code cache for our own sources, made by the first isolate for the next ones; it exists only in this process.
 * @typedef {import('isolated-vm').ExternalCopy<ArrayBuffer>} Compiled
 * @type {Map<string, Compiled>}
 */
const compiled = new Map()

/**
 * Compiles one of our functions in the realm of a guest.
 * @param {Isolate} isolate
 * @param {Context} context
 * @param {{ name: string, code: string }} source
 * @returns {Promise<Reference>}
 */
async function functionOf(isolate, context, { name, code }) {
  const cachedData = compiled.get(name)
  const script = await isolate.compileScript(
    code,
    cachedData ? { filename: name, cachedData } : { filename: name, produceCachedData: true },
  )
  if ('cachedData' in script) compiled.set(name, /** @type {Compiled} */ (script.cachedData))
  const made = await script.run(context, { reference: true })
  script.release()
  return made
}

/**
 * Runs the prelude.
 * @param {Isolate} isolate
 * @param {Context} context
 * @param {import('isolated-vm').Callback} post through which the guest sends messages
 * @param {Limits} limits
 * @returns {Promise<Reference>} the entry point for every call, reply and timer
 */
export async function startPrelude(isolate, context, post, limits) {
  const start = await functionOf(isolate, context, PRELUDE)
  const installWeb = limits.isPlugin ? await functionOf(isolate, context, WEB) : undefined
  const given = [post, JSON.stringify(limits), installWeb?.derefInto()]
  const entry = await start.apply(undefined, given, { result: { reference: true } })
  start.release()
  return entry
}

/**
 * Runs the sources of a program in order.
 * @param {Program} program
 * @param {readonly Sources[]} sources
 * @returns {Promise<string[]>} paths of the functions that a plugin has defined
 */
export async function runSources({ isolate, context, entry, options, enter }, sources) {
  /** @type {string[]} */
  let defined = []
  for (const { name, code, module: isModule } of sources) {
    if (isModule) {
      const module = await isolate.compileModule(code, { filename: name })
      await module.instantiate(context, (specifier) => {
        throw new Error(`A plugin must be a single file: it cannot import "${specifier}".`)
      })
      await enter(module.evaluate(options))
      const plugin = await module.namespace.get('default', { reference: true })
      const text = await enter(entry.apply(undefined, ['define', 0, plugin.derefInto()], options))
      defined = String(text).split('\n').filter(Boolean)
      module.release()
      continue
    }
    const script = await isolate.compileScript(code, { filename: name })
    await enter(script.run(context, options))
    script.release()
  }
  return defined
}
