import {
  BookOpen,
  Expand,
  GalleryVertical,
  Keyboard,
  Monitor,
  MoveHorizontal,
  MoveVertical,
  RectangleVertical,
  ScanSearch,
} from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { keyTexts, readerTexts, settingTexts as texts } from '#texts/reader.ts'
import { ClearTarget, ReaderPanel, TargetChoice } from '../shared/reader-panel.tsx'
import { ChoiceSetting, RangeSetting, SwitchSetting, switchWords } from '../shared/setting-controls.tsx'
import type { LevelSettings } from '../shared/use-levels.ts'
import type { Layout } from './page-rules.ts'
import { PAGE_CHOICES, type PageSettings } from './page-settings.ts'

interface PanelProps {
  of: LevelSettings<PageSettings>
  /** What shows now: settings of another layout are left out. */
  layout: Layout
  onKeys(): void
  onClose(): void
}

type Words<Key extends keyof PageSettings> = Record<PageSettings[Key] & string, () => string>

const LAYOUTS: Words<'layout'> = {
  single: texts.layoutSingle,
  double: texts.layoutDouble,
  strip: texts.layoutStrip,
  screen: texts.layoutScreen,
}
const LAYOUT_ICONS = { single: RectangleVertical, double: BookOpen, strip: GalleryVertical, screen: Monitor }
const DIRECTIONS: Words<'direction'> = {
  ltr: texts.directionLtr,
  rtl: texts.directionRtl,
  ttb: texts.directionTtb,
  record: texts.directionRecord,
}
const FITS: Words<'fit'> = { page: texts.fitPage, width: texts.fitWidth, height: texts.fitHeight, original: texts.fitOriginal }
const FIT_ICONS = { page: Expand, width: MoveHorizontal, height: MoveVertical, original: ScanSearch }
const WIDES: Words<'wide'> = { whole: texts.wideWhole, split: texts.wideSplit, turned: texts.wideTurned }
const DESKS: Words<'desk'> = { theme: texts.deskTheme, light: texts.deskLight, gray: texts.deskGray, black: texts.deskBlack }

/** The settings of pages; each says which level holds its value. */
export function PageSettingsPanel({ of, layout, onKeys, onClose }: PanelProps) {
  const foot = (
    <>
      <ClearTarget of={of} />
      <button type="button" className="btn plain" onClick={onKeys}>
        <Icon of={Keyboard} />
        {readerTexts.keys()}
      </button>
    </>
  )
  return (
    <ReaderPanel title={readerTexts.settings()} foot={foot} onClose={onClose}>
      <TargetChoice of={of} />
      <fieldset className="rgroup">
        <legend>{texts.pagesGroup()}</legend>
        <ChoiceSetting
          {...{ of, name: 'layout', label: texts.layout(), look: 'tall' }}
          words={(value) => LAYOUTS[value]()}
          options={PAGE_CHOICES.layout.map((value) => ({ value, label: LAYOUTS[value](), picture: <Icon of={LAYOUT_ICONS[value]} /> }))}
        />
        <ChoiceSetting
          {...{ of, name: 'direction', label: keyTexts.direction() }}
          words={(value) => DIRECTIONS[value]()}
          options={PAGE_CHOICES.direction.map((value) => ({ value, label: DIRECTIONS[value]() }))}
        />
        {layout === 'strip' ? <StripSettings of={of} /> : <SpreadSettings of={of} layout={layout} />}
      </fieldset>
      <LightSettings of={of} />
    </ReaderPanel>
  )
}

function SpreadSettings({ of, layout }: Pick<PanelProps, 'of' | 'layout'>) {
  // Pairs have room for a wide page; to split it there would only shrink it.
  const wides = PAGE_CHOICES.wide.filter((value) => layout === 'single' || value !== 'split')
  return (
    <>
      <ChoiceSetting
        {...{ of, name: 'fit', label: texts.fit(), look: 'tall' }}
        words={(value) => FITS[value]()}
        options={PAGE_CHOICES.fit.map((value) => ({ value, label: FITS[value](), picture: <Icon of={FIT_ICONS[value]} /> }))}
      />
      <ChoiceSetting
        {...{ of, name: 'wide', label: texts.wide() }}
        words={(value) => WIDES[value]()}
        options={wides.map((value) => ({ value, label: WIDES[value]() }))}
      />
      <RotationSetting of={of} />
      {layout === 'double' && (
        <SwitchSetting {...{ of, name: 'coverAlone', label: texts.coverAlone(), hint: texts.coverAloneHint(), words: switchWords }} />
      )}
    </>
  )
}

function RotationSetting({ of }: Pick<PanelProps, 'of'>) {
  const words = (value: string) => (value === '0' ? texts.none() : texts.degrees({ value }))
  return (
    <ChoiceSetting
      {...{ of, name: 'rotation', label: texts.rotation(), words }}
      options={PAGE_CHOICES.rotation.map((value) => ({ value, label: words(value) }))}
    />
  )
}

function StripSettings({ of }: Pick<PanelProps, 'of'>) {
  return (
    <>
      <RangeSetting
        {...{ of, name: 'gap', label: texts.gap(), ...PAGE_CHOICES.gap }}
        words={(value) => (value === 0 ? texts.none() : texts.pixels({ value }))}
      />
      <RotationSetting of={of} />
      <RangeSetting {...{ of, name: 'stripWidth', label: texts.stripWidth(), ...PAGE_CHOICES.stripWidth }} words={percent} />
    </>
  )
}

function LightSettings({ of }: Pick<PanelProps, 'of'>) {
  return (
    <fieldset className="rgroup">
      <legend>{texts.light()}</legend>
      <RangeSetting {...{ of, name: 'brightness', label: texts.brightness(), ...PAGE_CHOICES.brightness }} words={percent} />
      <RangeSetting {...{ of, name: 'contrast', label: texts.contrast(), ...PAGE_CHOICES.contrast }} words={percent} />
      <SwitchSetting {...{ of, name: 'invert', label: texts.invert(), words: switchWords }} />
      <ChoiceSetting
        {...{ of, name: 'desk', label: texts.background(), look: 'papers' }}
        words={(value) => DESKS[value]()}
        options={PAGE_CHOICES.desk.map((value) => ({
          value,
          label: DESKS[value](),
          picture: <b className="desk" data-desk={value === 'theme' ? undefined : value} />,
        }))}
      />
    </fieldset>
  )
}

const percent = (value: number): string => texts.percent({ value })
