import { Undo2 } from 'lucide-react'
import { type CSSProperties, type ReactNode, useId } from 'react'
import { Icon } from '#parts/icon.tsx'
import { settingTexts } from '#texts/reader.ts'
import type { Level } from './levels.ts'
import type { LevelSettings } from './use-levels.ts'

/** One setting: its name, the level that holds its value, its control. */
interface SettingProps<Settings extends object, Key extends keyof Settings> {
  of: LevelSettings<Settings>
  name: Key
  label: string
  hint?: string
  /** The words for a value, for "set back to …". */
  words(value: Settings[Key]): string
}

const levelWords = (level: Level | null): string => (level === null ? settingTexts.bySelf() : settingTexts[level]())

function LevelMark<Settings extends object, Key extends keyof Settings>({
  of,
  name,
  words,
}: Omit<SettingProps<Settings, Key>, 'label' | 'hint'>) {
  const level = of.levelOf(name)
  if (level === null || level === 'global') return <span className="level">{level === null ? '' : levelWords(level)}</span>
  const title = settingTexts.setBack({ level: levelWords(level), value: words(of.below(name).value) })
  return (
    <button type="button" className="level" aria-label={title} title={title} onClick={() => of.setBack(name)}>
      {levelWords(level)}
      <Icon of={Undo2} />
    </button>
  )
}

interface ChoiceProps<Settings extends object, Key extends keyof Settings> extends SettingProps<Settings, Key> {
  options: readonly { value: Settings[Key] & string; label: string; picture?: ReactNode }[]
  /** `tall`: the picture over the word. `papers`: the picture fills the choice. */
  look?: 'tall' | 'flat' | 'papers' | 'faces'
}

/** One of a few values. */
export function ChoiceSetting<Settings extends object, Key extends keyof Settings>(props: ChoiceProps<Settings, Key>) {
  const { of, name, label, options, look = 'flat' } = props
  const group = useId()
  const classes = { tall: 'segments fill tall full', flat: 'segments fill full', papers: 'papers full', faces: 'faces full' }
  return (
    <div className="ropt">
      <span className="ropt-name">{label}</span>
      <LevelMark {...{ of, name }} words={props.words} />
      <div className={classes[look]} role="radiogroup" aria-label={label}>
        {options.map(({ value, label: word, picture }) => (
          <label key={value}>
            <input
              type="radio"
              className={look === 'tall' || look === 'flat' ? 'visually-hidden' : undefined}
              name={group}
              checked={of.settings[name] === value}
              onChange={() => of.choose(name, value)}
            />
            {picture}
            <span>{word}</span>
          </label>
        ))}
      </div>
    </div>
  )
}

interface RangeProps<Settings extends object, Key extends keyof Settings> extends SettingProps<Settings, Key> {
  min: number
  max: number
  step?: number
}

export function RangeSetting<Settings extends object, Key extends keyof Settings>(props: RangeProps<Settings, Key>) {
  const { of, name, label, min, max, step = 1, words } = props
  const value = of.settings[name]
  const at = `${((Number(value) - min) / (max - min)) * 100}%`
  return (
    <div className="ropt">
      <span className="ropt-name">{label}</span>
      <LevelMark {...{ of, name, words }} />
      <div className="slider full">
        <input
          type="range"
          {...{ min, max, step }}
          value={Number(value)}
          style={{ '--at': at } as CSSProperties}
          aria-label={label}
          aria-valuetext={words(value)}
          onChange={(event) => of.choose(name, Number(event.target.value) as Settings[Key])}
        />
        <output className="rvalue">{words(value)}</output>
      </div>
    </div>
  )
}

export function SwitchSetting<Settings extends object, Key extends keyof Settings>(props: SettingProps<Settings, Key>) {
  const { of, name, label, hint } = props
  return (
    <div className="ropt">
      <span className="ropt-name">
        {label}
        {hint && <small>{hint}</small>}
      </span>
      <label className="check">
        <input
          type="checkbox"
          role="switch"
          aria-checked={of.settings[name] === true}
          aria-label={label}
          checked={of.settings[name] === true}
          onChange={(event) => of.choose(name, event.target.checked as Settings[Key])}
        />
      </label>
      <span className="level-line full">
        <LevelMark {...{ of, name }} words={props.words} />
      </span>
    </div>
  )
}

/** "on" or "off". */
export const switchWords = (value: unknown): string => (value ? settingTexts.on() : settingTexts.off())
