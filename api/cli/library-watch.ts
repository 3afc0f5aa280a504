import { type Command, CommandProblem } from '#api/cli/command.ts'
import { type ScanningConfig, WATCH_MODES, type WatchMode } from '#core/catalog/library.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'

/** How changes in the folders of a library are noticed, for commands that make or change one. */
export const WATCH_FLAGS: Command['flags'] = [
  {
    name: 'watch',
    value: 'how',
    isSwitch: false,
    repeatable: false,
    about: 'How new files are noticed: auto (by events, if the drive reports them), on (by events), poll (by scans in an interval), off.',
  },
]

/** Of a library for which nobody has decided anything: it is scanned at each start. */
const UNDECIDED: ScanningConfig = { enabled: true, scanMode: 'normal', scanOnStart: true }

/** The scanning configuration with the flag; empty without it. @param before the configuration so far @throws CommandProblem */
export function readWatchFlag(given: string | undefined, before: ScanningConfig | null | undefined): { scanningConfig?: ScanningConfig } {
  if (given === undefined) return {}
  if (!(WATCH_MODES as readonly string[]).includes(given))
    throw new CommandProblem(`--watch cannot be "${given}".${didYouMean(given, WATCH_MODES)} All: ${WATCH_MODES.join(', ')}.`)
  const { pollMinutes, ...config } = before ?? UNDECIDED
  const kept = given === 'poll' && pollMinutes ? { pollMinutes } : {}
  return { scanningConfig: { ...config, ...kept, watch: given as WatchMode } }
}
