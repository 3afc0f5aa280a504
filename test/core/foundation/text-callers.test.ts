import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const PRODUCT = ['api', 'core', 'migrations', 'plugin-sdk', 'plugins', 'workers']

/** Functions that take quadratic time on a run of combining marks, and where they are allowed all the same. */
const FORBIDDEN: { pattern: RegExp; instead: string; allowed: Record<string, string> }[] = [
  {
    pattern: /\.normalize\(/,
    instead: 'call normalizeText of core/foundation/text.ts, which cuts and bounds first',
    allowed: {
      'plugin-sdk/normalize-text.ts': 'is the implementation',
      'plugins/runtime/guest/web/host-name.ts': 'runs in a sandbox, on names of hosts of bounded length',
    },
  },
  {
    pattern: /\.localeCompare\(|Intl\.Collator|\bcollator\b/i,
    instead: 'bound the marks before texts are compared by a language',
    allowed: {
      'core/scan/walk-folders.ts': 'bounds the marks of both names',
      'core/paging/initial-groups-query.ts': 'compares single letters',
      'workers/formats/comic/page-order.ts': 'only a comment',
    },
  },
  {
    pattern: /\bnormalize\(given\b/i,
    instead: 'fold the text by carrel_fold in SQL',
    allowed: {},
  },
]

/** Bundles are built from sources that this test checks. */
const isBuilt = (path: string) => /^plugins\/(.*\/)?(bundled|guest)\/[^/]+\/main\.js$|^plugin-sdk\/dist\//.test(path)

t.test('text is normalized and compared in bounded pieces everywhere', async (t) => {
  const paths = PRODUCT.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mjs|js)$/.test(entry.name) && !entry.parentPath.includes('node_modules'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  ).filter((path) => !isBuilt(path))
  t.ok(paths.length > 200, 'the walk finds the code')
  for (const { pattern, instead, allowed } of FORBIDDEN) {
    const found = paths.filter((path) => pattern.test(readFileSync(join(root, path), 'utf8')))
    t.same(
      found.filter((path) => !Object.hasOwn(allowed, path)),
      [],
      `${pattern.source}: ${instead}`,
    )
    t.same(
      Object.keys(allowed).filter((path) => !found.includes(path)),
      [],
      'and what is allowed is there',
    )
  }
})
