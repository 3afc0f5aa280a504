// @ts-check
// A disk of its own: mirrors a folder, read only, at another one. While this process is stopped, every system call there waits.
// node fuse-disk.mjs MIRRORED MOUNTED: prints "ready" when it is mounted. Needs the rights to mount, and /dev/fuse.
import { spawnSync } from 'node:child_process'
import { lstatSync, openSync, read, readdirSync, readFileSync, readlinkSync, writeSync } from 'node:fs'

const [mirrored, mounted] = /** @type {[string, string]} */ (process.argv.slice(2))
const device = openSync('/dev/fuse', 'r+')
const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other'
const mounting = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'carrel-test', mounted], {
  stdio: ['ignore', 'inherit', 'inherit', device],
})
if (mounting.status !== 0) process.exit(1)

const NODES = new Map([[1n, mirrored]])
const IDS = new Map([[mirrored, 1n]])
const [ENOENT, ENOSYS] = [-2, -38]

/** @param {string} path */
function nodeOf(path) {
  const known = IDS.get(path)
  if (known !== undefined) return known
  const id = BigInt(NODES.size + 1)
  NODES.set(id, path)
  IDS.set(path, id)
  return id
}

/** @param {string} path */
function attributes(path) {
  const facts = lstatSync(path, { bigint: true })
  const out = Buffer.alloc(88)
  for (const [index, value] of [nodeOf(path), facts.size, facts.blocks].entries()) out.writeBigUInt64LE(value, index * 8)
  for (const [index, ns] of [facts.atimeNs, facts.mtimeNs, facts.ctimeNs].entries()) {
    out.writeBigUInt64LE(ns / 1_000_000_000n, 24 + index * 8)
    out.writeUInt32LE(Number(ns % 1_000_000_000n), 48 + index * 4)
  }
  for (const [index, value] of [facts.mode, facts.nlink].entries()) out.writeUInt32LE(Number(value), 60 + index * 4)
  out.writeUInt32LE(4096, 80)
  return out
}

/** @param {string} path @param {Buffer} body */
function list(path, body) {
  const [offset, size] = [Number(body.readBigUInt64LE(8)), body.readUInt32LE(16)]
  const parts = []
  let length = 0
  for (const [index, entry] of readdirSync(path, { withFileTypes: true }).entries()) {
    if (index < offset) continue
    const name = Buffer.from(entry.name)
    const part = Buffer.alloc(Math.ceil((24 + name.length) / 8) * 8)
    part.writeBigUInt64LE(nodeOf(`${path}/${entry.name}`), 0)
    part.writeBigUInt64LE(BigInt(index + 1), 8)
    part.writeUInt32LE(name.length, 16)
    part.writeUInt32LE(entry.isDirectory() ? 4 : entry.isSymbolicLink() ? 10 : 8, 20)
    name.copy(part, 24)
    length += part.length
    if (length > size) break
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The reply to a request; null for those that have none. @param {number} opcode @param {string} path @param {Buffer} body */
function reply(opcode, path, body) {
  if (opcode === 26) {
    const out = Buffer.alloc(64)
    for (const [index, value] of [7, 31, 131_072, 0].entries()) out.writeUInt32LE(value, index * 4)
    out.writeUInt16LE(64, 16)
    out.writeUInt16LE(48, 18)
    out.writeUInt32LE(131_072, 20)
    return out
  }
  if (opcode === 1) {
    const child = `${path}/${body.subarray(0, body.indexOf(0)).toString()}`
    const facts = attributes(child)
    // Nothing may be remembered by the kernel: each call has to come here.
    const out = Buffer.alloc(40)
    out.writeBigUInt64LE(nodeOf(child), 0)
    return Buffer.concat([out, facts])
  }
  if (opcode === 3) return Buffer.concat([Buffer.alloc(16), attributes(path)])
  if (opcode === 5) return Buffer.from(readlinkSync(path))
  if (opcode === 14 || opcode === 27) return Buffer.from([...Buffer.alloc(8), opcode === 14 ? 1 : 0, ...Buffer.alloc(7)])
  if (opcode === 28) return list(path, body)
  if (opcode === 15) {
    const [offset, size] = [Number(body.readBigUInt64LE(8)), body.readUInt32LE(16)]
    return readFileSync(path).subarray(offset, offset + size)
  }
  if (opcode === 17) return Buffer.alloc(80)
  if ([18, 25, 29, 34].includes(opcode)) return Buffer.alloc(0)
  return [2, 36, 42].includes(opcode) ? null : ENOSYS
}

/** @param {Buffer} request */
function serve(request) {
  const [opcode, unique, node] = [request.readUInt32LE(4), request.readBigUInt64LE(8), request.readBigUInt64LE(16)]
  let out
  try {
    out = reply(opcode, NODES.get(node) ?? '', request.subarray(40))
  } catch {
    out = ENOENT
  }
  if (out === null) return
  const head = Buffer.alloc(16)
  const body = typeof out === 'number' ? Buffer.alloc(0) : out
  head.writeUInt32LE(16 + body.length, 0)
  if (typeof out === 'number') head.writeInt32LE(out, 4)
  head.writeBigUInt64LE(unique, 8)
  try {
    writeSync(device, Buffer.concat([head, body]))
  } catch {
    // Whoever asked has gone.
  }
}

const buffer = Buffer.alloc(1_048_576)
function next() {
  read(device, buffer, 0, buffer.length, null, (error, bytes) => {
    if (error?.code === 'ENODEV') process.exit(0)
    if (!error) serve(Buffer.from(buffer.subarray(0, bytes)))
    next()
  })
}
next()
process.stdout.write('ready\n')
