#!/usr/bin/env node
// `carrel-plugin`, for authors of plugins: starts the tool of this checkout in their folder, on the Node that the checkout is made for. How that is
// done the launcher of the server knows, which is a program and no library: it is given its arguments, and run.
process.argv.splice(2, 0, '--dev', 'plugins/devkit/main.ts')
await import('../../api/launch.mjs')
