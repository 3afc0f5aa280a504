// @ts-check
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Builds `main.js` from `main.ts` and its imports from core. The output is committed, because servers have no bundler; a test compares it with its
 * source. The regular expression engine is external: the isolate runs the file of its package first, which defines `RE2JS`.
 *
 *     node plugins/templates/guest/rules/build.mjs
 */

const FOLDER = path.dirname(fileURLToPath(import.meta.url))

export async function buildRules() {
  const { outputFiles } = await build({
    absWorkingDir: FOLDER,
    entryPoints: ['main.ts'],
    bundle: true,
    format: 'iife',
    target: 'es2024',
    platform: 'neutral',
    charset: 'utf8',
    banner: {
      js: '// biome-ignore-all lint: built from main.ts\n// biome-ignore-all format: built from main.ts\n// biome-ignore-all assist: built from main.ts',
    },
    plugins: [
      {
        name: 'engine',
        setup(builder) {
          builder.onResolve({ filter: /^re2js$/ }, () => ({ path: 're2js', namespace: 'engine' }))
          builder.onLoad({ filter: /^re2js$/, namespace: 'engine' }, () => ({
            contents: 'export const { RE2JS, RE2JSSyntaxException } = globalThis.RE2JS',
          }))
        },
      },
    ],
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeFile(path.join(FOLDER, 'main.js'), await buildRules())
