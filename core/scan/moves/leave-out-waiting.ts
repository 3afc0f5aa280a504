import { isMassLoss } from '#core/scan/mass-loss.ts'
import { decideWithheld, type HeldFolder, type Loss, type WithheldDecision } from '#core/scan/withheld.ts'

interface Waiting extends Omit<Loss, 'isMass'> {
  /** Books recorded before, in folders that could be read. */
  known: number
  decided: WithheldDecision
  /** New files that wait for their analysis, by folder. */
  newFiles: ReadonlyMap<string, number>
  /** How many of them have the size of a file that is gone, which does not count as missing. */
  matched: number
}

/**
 * Which of the losses that were decided to be withheld are reported. A new file that is not analyzed yet may be a lost one that was renamed, and
 * changed by a program that writes tags: as many losses as there are such files wait, first those of the same folder. Never those on another device.
 */
export async function leaveOutWaiting({ known, decided, newFiles, matched, ...loss }: Waiting): Promise<{
  withheld: WithheldDecision['withheld']
  isMass: boolean
}> {
  const folders = new Map<string, HeldFolder>()
  let left = [...newFiles.values()].reduce((sum, count) => sum + count, -matched)
  for (const isSame of [true, false])
    for (const [folder, before] of loss.folders) {
      const { gone, ...more } = folders.get(folder) ?? before
      const waits = Math.max(0, Math.min(gone, left, isSame ? (newFiles.get(folder) ?? 0) : left))
      left -= waits
      folders.set(folder, { gone: gone - waits, ...more })
    }
  const missing = [...folders.values()].reduce((sum, { gone }) => sum + gone, 0)
  const isMass = isMassLoss({ known, missing })
  const shown = await decideWithheld({ ...loss, folders, isMass })
  const isShown = (folder: string, reason: string) => reason === 'other_device' || shown.withheld.has(folder)
  return { withheld: new Map([...decided.withheld].filter(([folder, reason]) => isShown(folder, reason))), isMass }
}
