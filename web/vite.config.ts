import { readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'
import { ADDRESSES } from './src/app/addresses.ts'

/** The server that `npm run dev` asks for everything that is not a file of this folder. */
const SERVER = process.env['CARREL_URL'] ?? 'http://127.0.0.1:8085'

/**
 * Sets the theme before the first paint, so that nobody who chose the dark theme sees a white page. A classic script in the head: modules
 * run after the page was painted, and the policy of the page forbids scripts inside the document.
 */
function themeScript(): Plugin {
  let isServed = false
  return {
    name: 'theme-script',
    configResolved(config) {
      isServed = config.command === 'serve'
    },
    buildStart() {
      if (!isServed)
        this.emitFile({ type: 'asset', name: 'theme.js', source: readFileSync(new URL('src/app/theme-first.js', import.meta.url)) })
    },
    transformIndexHtml(_html, { bundle }) {
      const built = Object.values(bundle ?? {}).find((each) => each.type === 'asset' && each.names.includes('theme.js'))
      return [{ tag: 'script', attrs: { src: built ? `./${built.fileName}` : './src/app/theme-first.js' }, injectTo: 'head-prepend' }]
    },
  }
}

/** Tells the server which addresses are pages: it answers others with the status 404. */
function addressList(): Plugin {
  return {
    name: 'address-list',
    apply: 'build',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'addresses.json', source: JSON.stringify(ADDRESSES) })
    },
  }
}

export default defineConfig({
  // Relative, so that everything works below any path of a proxy.
  base: './',
  plugins: [themeScript(), addressList()],
  build: {
    // Browsers that know light-dark(), nested styles and Promise.withResolvers.
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // A picture or font inside a style cannot be kept by the browser, and the policy allows fonts from the server only.
    assetsInlineLimit: 0,
    // Measured: the check of sizes compresses every file again and takes a third of the build.
    reportCompressedSize: false,
    manifest: 'files.json',
  },
  server: {
    proxy: Object.fromEntries(['/api', '/opds', '/koreader', '/health'].map((path) => [path, { target: SERVER, changeOrigin: false }])),
  },
})
