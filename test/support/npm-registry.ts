import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { ROOT, succeeds } from './sdk-install.ts'

/** A test, or what else ends. */
interface Teardown {
  teardown(work: () => unknown): void
}

interface Published {
  manifest: { name: string; version: string }
  tarball: Buffer
}

/**
 * An npm registry on this machine: it serves the given tarballs, and the named packages of the repository's `node_modules`.
 * @returns its address
 */
export async function openRegistry(
  t: Teardown,
  folder: string,
  tarballs: readonly string[],
  installed: readonly string[],
): Promise<string> {
  await mkdir(folder, { recursive: true })
  const files = [...tarballs]
  for (const name of installed) {
    await succeeds(
      'npm',
      ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, path.join(ROOT, 'node_modules', name)],
      folder,
    )
    const packed = (await readdir(folder)).map((file) => path.join(folder, file))
    files.push(...packed.filter((file) => file.endsWith('.tgz') && !files.includes(file)))
  }
  const packages = new Map<string, Published>()
  for (const file of files) {
    const manifest = JSON.parse(await succeeds('tar', ['-xzOf', file, 'package/package.json'], folder)) as Published['manifest']
    packages.set(manifest.name, { manifest, tarball: await readFile(file) })
  }
  const server = createServer((request, response) => {
    const [name = '', ending] = decodeURIComponent((request.url ?? '').slice(1)).split('/-/')
    const found = packages.get(name)
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}')
      return
    }
    if (ending !== undefined) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found.tarball)
      return
    }
    const { manifest, tarball } = found
    const dist = {
      tarball: `${url}/${name}/-/package.tgz`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist } } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return url
}
