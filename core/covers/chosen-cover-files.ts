import { rm } from 'node:fs/promises'
import { type CoverOwner, chosenCoverPath, coversFolder, type DrawnCover } from '#core/covers/cover.ts'
import { halfPath, replaceFile } from '#core/covers/file-writer.ts'

/** Writes a cover in both sizes; no request reads an incomplete file. */
export async function writeCoverFiles(
  dataFolder: string,
  owner: CoverOwner,
  cover: { id: string; drawn: Exclude<DrawnCover, { refused: unknown }> },
): Promise<void> {
  for (const size of ['large', 'small'] as const) {
    const path = chosenCoverPath(dataFolder, owner, { id: cover.id, size })
    await replaceFile({ path, bytes: cover.drawn[size].jpeg })
  }
}

export async function removeCoverFiles(dataFolder: string, { kind, id }: CoverOwner, coverId: string): Promise<void> {
  for (const size of ['large', 'small'] as const) {
    const path = chosenCoverPath(dataFolder, { kind, id: id.toLowerCase() }, { id: coverId, size })
    await rm(path, { force: true })
    await rm(halfPath(path), { force: true })
  }
}

/** Removes the files of all covers of a deleted book or series. */
export async function removeCoverFolder(dataFolder: string, owner: CoverOwner): Promise<void> {
  await rm(coversFolder(dataFolder, owner), { recursive: true, force: true })
}
