// Runs the test files of TEST_FILES one after the other in this process, which test/support/start.ts has started.
import { ServerResponse } from 'node:http'
import path from 'node:path'
import t from 'tap'

/** Of a file that does not say how long it takes. */
const FILE_MS_MAX = 300_000

const root = path.resolve(import.meta.dirname, '..', '..')
const files: string[] = JSON.parse(process.env['TEST_FILES'] as string)

// restify puts a writeHead that answers nothing in the place of Node's, for every server of its process. What stands in for a service in tests chains it.
let writeHead: ServerResponse['writeHead'] = ServerResponse.prototype.writeHead
Object.defineProperty(ServerResponse.prototype, 'writeHead', {
  get: () => writeHead,
  set(replaced: typeof writeHead) {
    writeHead = function (this: ServerResponse, ...given: unknown[]) {
      Reflect.apply(replaced, this, given)
      return this
    } as typeof replaced
  },
})

// The tests of a file stand below its name. Loading the next one is a test as well, that comes after them: tap ends as soon as there is none.
const load = (at: number): void => {
  const file = files[at] as string
  t.test(file, async () => {
    t.setTimeout(FILE_MS_MAX)
    await import(path.join(root, file))
    if (at + 1 < files.length) load(at + 1)
  })
}
load(0)
