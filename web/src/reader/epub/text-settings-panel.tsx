import { Columns2, GalleryVertical, Monitor, RectangleVertical } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { settingTexts as texts } from '#texts/reader.ts'
import { ClearTarget, ReaderPanel, TargetChoice } from '../shared/reader-panel.tsx'
import { ChoiceSetting, RangeSetting, SwitchSetting, switchWords } from '../shared/setting-controls.tsx'
import type { LevelSettings } from '../shared/use-levels.ts'
import { TEXT_CHOICES, type TextSettings } from './text-settings.ts'

interface PanelProps {
  of: LevelSettings<TextSettings>
  /** A fixed layout has its own type and pages. */
  isFixed: boolean
  onClose(): void
}

type Words<Key extends keyof TextSettings> = Record<TextSettings[Key] & string, () => string>

const PAPERS: Words<'paper'> = { paper: texts.paperPaper, sepia: texts.paperSepia, night: texts.paperNight, black: texts.paperBlack }
const FACES: Words<'face'> = {
  ...{
    serif: texts.faceSerif,
    oldstyle: texts.faceOldstyle,
    sans: texts.faceSans,
    fixed: texts.faceFixed,
    dyslexia: texts.faceDyslexia,
    book: texts.faceBook,
  },
}
const ALIGNS: Words<'align'> = { justify: texts.alignJustify, start: texts.alignStart, book: texts.alignBook }
const FLOWS: Words<'flow'> = { one: texts.flowOne, two: texts.flowTwo, scroll: texts.flowScroll, screen: texts.flowScreen }
const FLOW_ICONS = { one: RectangleVertical, two: Columns2, scroll: GalleryVertical, screen: Monitor }

/** The settings of a text; each says which level holds its value. */
export function TextSettingsPanel({ of, isFixed, onClose }: PanelProps) {
  return (
    <ReaderPanel title={texts.textTitle()} foot={<ClearTarget of={of} />} onClose={onClose}>
      <TargetChoice of={of} />
      <fieldset className="rgroup">
        <legend>{texts.paper()}</legend>
        <ChoiceSetting
          {...{ of, name: 'paper', label: texts.paper(), look: 'papers' }}
          words={(value) => PAPERS[value]()}
          options={TEXT_CHOICES.paper.map((value) => ({ value, label: PAPERS[value](), picture: <b data-read={value}>Aa</b> }))}
        />
      </fieldset>
      {!isFixed && (
        <>
          <TypeSettings of={of} />
          <FlowSettings of={of} />
        </>
      )}
    </ReaderPanel>
  )
}

function TypeSettings({ of }: Pick<PanelProps, 'of'>) {
  return (
    <fieldset className="rgroup">
      <legend>{texts.text()}</legend>
      <ChoiceSetting
        {...{ of, name: 'face', label: texts.face(), look: 'faces' }}
        words={(value) => FACES[value]()}
        options={TEXT_CHOICES.face.map((value) => ({ value, label: FACES[value](), picture: <b data-face={value}>Ag</b> }))}
      />
      <RangeSetting {...{ of, name: 'size', label: texts.size(), ...TEXT_CHOICES.size }} words={pixels} />
      <RangeSetting
        {...{ of, name: 'lineHeight', label: texts.lineHeight(), ...TEXT_CHOICES.lineHeight }}
        step={0.02}
        words={(value) => value.toFixed(2)}
      />
      <ChoiceSetting
        {...{ of, name: 'align', label: texts.align() }}
        words={(value) => ALIGNS[value]()}
        options={TEXT_CHOICES.align.map((value) => ({ value, label: ALIGNS[value]() }))}
      />
      <SwitchSetting {...{ of, name: 'hyphens', label: texts.hyphens(), words: switchWords }} />
      <SwitchSetting {...{ of, name: 'publisherStyles', label: texts.publisher(), hint: texts.publisherHint(), words: switchWords }} />
    </fieldset>
  )
}

function FlowSettings({ of }: Pick<PanelProps, 'of'>) {
  return (
    <fieldset className="rgroup">
      <legend>{texts.pageGroup()}</legend>
      <ChoiceSetting
        {...{ of, name: 'flow', label: texts.flow(), look: 'tall' }}
        words={(value) => FLOWS[value]()}
        options={TEXT_CHOICES.flow.map((value) => ({ value, label: FLOWS[value](), picture: <Icon of={FLOW_ICONS[value]} /> }))}
      />
      <RangeSetting
        {...{ of, name: 'measure', label: texts.measure(), ...TEXT_CHOICES.measure }}
        words={(value) => texts.letters({ value })}
      />
      <RangeSetting
        {...{ of, name: 'margin', label: texts.margin(), ...TEXT_CHOICES.margin }}
        words={(value) => texts.percent({ value })}
      />
    </fieldset>
  )
}

const pixels = (value: number): string => texts.pixels({ value })
