import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { type CoverOwner, chosenCoverPath, coversFolder, type DrawnCover } from '#core/metadata/cover.ts'

/** Writes a cover in both sizes, each under a temporary name first, so that no request reads an incomplete file. */
export async function writeCoverFiles(
  dataFolder: string,
  owner: CoverOwner,
  cover: { id: string; drawn: Exclude<DrawnCover, { refused: unknown }> },
): Promise<void> {
  await mkdir(coversFolder(dataFolder, owner), { recursive: true, mode: 0o700 })
  for (const size of ['large', 'small'] as const) {
    const path = chosenCoverPath(dataFolder, owner, { id: cover.id, size })
    await writeFile(`${path}.tmp`, cover.drawn[size].jpeg)
    await rename(`${path}.tmp`, path)
  }
}

export async function removeCoverFiles(dataFolder: string, { kind, id }: CoverOwner, coverId: string): Promise<void> {
  for (const size of ['large', 'small'] as const) {
    const path = chosenCoverPath(dataFolder, { kind, id: id.toLowerCase() }, { id: coverId, size })
    await rm(path, { force: true })
    await rm(`${path}.tmp`, { force: true })
  }
}

/** Removes the files of all covers of a deleted book or series. */
export async function removeCoverFolder(dataFolder: string, owner: CoverOwner): Promise<void> {
  await rm(coversFolder(dataFolder, owner), { recursive: true, force: true })
}
