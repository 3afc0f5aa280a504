import { useEffect, useMemo, useRef, useState } from 'react'
import { type SettingsKind, saveLevels } from './kept-settings.ts'
import { chooseAt, type Level, type Levels, levelOf, setBack, settingsOf, valueBelow } from './levels.ts'

/** The settings of a reader, and what its panel needs to show and change them. */
export interface LevelSettings<Settings extends object> {
  settings: Settings
  /** Where changes are kept. */
  target: Level
  setTarget(level: Level): void
  levelOf(key: keyof Settings): Level | null
  /** What holds without the nearest level. */
  below<Key extends keyof Settings>(key: Key): { value: Settings[Key]; level: Level | null }
  choose<Key extends keyof Settings>(key: Key, value: Settings[Key], at?: Level): void
  setBack(key: keyof Settings): void
  /** Drops everything that was chosen at the target. */
  clearTarget(): void
  /** Why the last change could not be saved; it holds until the reader is closed. */
  unsaved: string | null
}

/** Changes of a slider come many a second. */
const SAVE_MS = 600

interface Options<Settings> {
  kind: SettingsKind
  defaults: Settings
  initial: Levels<Settings>
  bookId: string
  seriesId: string
}

export function useLevels<Settings extends object>({
  kind,
  defaults,
  initial,
  bookId,
  seriesId,
}: Options<Settings>): LevelSettings<Settings> {
  const [levels, setLevels] = useState(initial)
  const [target, setTarget] = useState<Level>('series')
  const { noteChanges, unsaved } = useSaving(levels, (changes) => saveLevels(kind, { bookId, seriesId }, changes))
  const change = (next: Levels<Settings>) => {
    noteChanges(levels, next)
    setLevels(next)
  }
  return {
    settings: useMemo(() => settingsOf(defaults, levels), [defaults, levels]),
    target,
    setTarget,
    levelOf: (key) => levelOf(levels, key),
    below: (key) => valueBelow(defaults, levels, key),
    choose: (key, value, at = target) => change(chooseAt(levels, at, { key, value })),
    setBack: (key) => change(setBack(levels, key)),
    clearTarget: () => change({ ...levels, [target]: {} }),
    unsaved,
  }
}

/** Saves a while after the last change, and when the reader is closed. */
function useSaving<Settings extends object>(
  levels: Levels<Settings>,
  save: (changes: { levels: Levels<Settings>; changed: ReadonlySet<Level> }) => Promise<void>,
) {
  const [unsaved, setUnsaved] = useState<string | null>(null)
  const changed = useRef<Set<Level>>(new Set())
  const saveNow = useRef(() => {})
  saveNow.current = () => {
    if (changed.current.size === 0) return
    const saved = changed.current
    changed.current = new Set()
    save({ levels, changed: saved }).then(
      () => setUnsaved(null),
      (error: Error) => setUnsaved(error.message),
    )
  }
  // The levels are what the timer waits for: each change starts it anew.
  useEffect(() => {
    const timer = setTimeout(() => saveNow.current(), SAVE_MS)
    return () => clearTimeout(timer)
  }, [levels])
  useEffect(() => () => saveNow.current(), [])
  const noteChanges = (before: Levels<Settings>, after: Levels<Settings>) => {
    for (const level of ['book', 'series', 'global'] as const) if (before[level] !== after[level]) changed.current.add(level)
  }
  return { noteChanges, unsaved }
}
