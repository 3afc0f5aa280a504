import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { ADDRESSES } from './src/app/addresses.ts'

/** The server that `npm run dev` asks for everything that is not a file of this folder. */
const SERVER = process.env['CARREL_URL'] ?? 'http://127.0.0.1:8085'

const readHere = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

/**
 * Sets the theme before the first paint, so that nobody who chose the dark theme sees a white page. A classic script in the head: modules
 * run after the page was painted, and the policy of the page forbids scripts inside the document.
 */
function themeScript(): Plugin {
  let isBuild = false
  return {
    name: 'theme-script',
    configResolved(config) {
      isBuild = config.command === 'build'
    },
    buildStart() {
      if (isBuild) this.emitFile({ type: 'asset', name: 'theme.js', source: readHere('src/app/theme-first.js') })
    },
    transformIndexHtml(_html, { bundle }) {
      const built = Object.values(bundle ?? {}).find((each) => each.type === 'asset' && each.names.includes('theme.js'))
      const script = {
        tag: 'script',
        attrs: { src: built ? `./${built.fileName}` : '/src/app/theme-first.js' },
        injectTo: 'head-prepend',
      } as const
      // The server of Carrel writes the base of the page by its address.
      return isBuild ? [script] : [{ tag: 'base', attrs: { href: '/' }, injectTo: 'head-prepend' }, script]
    },
  }
}

/** The style elements that packages add to the page; the policy of the page allows these texts and no others. */
const FOREIGN_STYLES: readonly [file: string, text: RegExp][] = [
  ['node_modules/foliate-js/paginator.js', /innerHTML = `<style>([^$]*?)<\/style>/],
]

function hashOfStyle(file: string, text: RegExp): string {
  const found = text.exec(readHere(file))?.[1]
  if (found === undefined) throw new Error(`${file} no longer has the style that the policy of the page allows; see FOREIGN_STYLES`)
  return `'sha256-${createHash('sha256').update(found).digest('base64')}'`
}

/** What the server must know: which addresses are pages (others get the status 404), and which styles the policy allows. */
function serverFacts(): Plugin {
  return {
    name: 'server-facts',
    apply: 'build',
    generateBundle() {
      const styles = FOREIGN_STYLES.map(([file, text]) => hashOfStyle(file, text))
      this.emitFile({ type: 'asset', fileName: 'server.json', source: JSON.stringify({ addresses: ADDRESSES, styles }) })
    },
  }
}

/** Compressed forms beside the files, so that the server compresses nothing. */
function compressedForms(): Plugin {
  return {
    name: 'compressed-forms',
    apply: 'build',
    writeBundle({ dir }) {
      const assets = join(dir ?? '', 'assets')
      for (const name of readdirSync(assets).filter((each) => /\.(js|css|svg)$/.test(each))) {
        const bytes = readFileSync(join(assets, name))
        // The highest quality: 0.6 MB take less than two seconds, once.
        writeFileSync(
          join(assets, `${name}.br`),
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
        )
        writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }))
      }
    },
  }
}

export default defineConfig({
  // Relative, so that everything works below any path of a proxy.
  base: './',
  plugins: [themeScript(), serverFacts(), compressedForms()],
  build: {
    // Browsers that know light-dark(), nested styles, popovers and Promise.withResolvers.
    target: ['chrome123', 'firefox125', 'safari17.5'],
    // The policy allows fonts from the server only, and a picture inside a style cannot be kept by the browser.
    assetsInlineLimit: 0,
    // Measured: it compresses every file again and takes a third of the build.
    reportCompressedSize: false,
    // Which files each page loads, for the measurement of sizes.
    manifest: 'files.json',
  },
  server: {
    proxy: Object.fromEntries(['/api', '/opds', '/koreader', '/health'].map((path) => [path, { target: SERVER, changeOrigin: false }])),
  },
})
