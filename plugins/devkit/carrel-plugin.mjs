#!/usr/bin/env node
// @ts-check
// `carrel-plugin`, for authors of plugins: starts the tool of this checkout in their folder, with the Node version of the checkout. The server's
// launcher finds that Node; it is a program and not a library, so it gets its arguments here and is imported.
process.argv.splice(2, 0, '--dev', 'plugins/devkit/main.ts')
await import('../../api/launch.mjs')
