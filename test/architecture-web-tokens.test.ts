import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'

const css = readFileSync(new URL('../web/src/app/tokens.css', import.meta.url), 'utf8')

type Color = readonly [red: number, green: number, blue: number]
type Theme = 'light' | 'dark' | 'black'

function hexColor(text: string): Color {
  const digits = /^#([0-9a-f]{6})$/i.exec(text.trim())?.[1]
  if (digits === undefined) throw new Error(`${text} is no color`)
  return [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)) as unknown as Color
}

/** The color of a token in a theme. The black theme is dark but for what its own block says. */
function colorOf(token: string, theme: Theme): Color {
  const [shared = '', black = ''] = css.split('[data-theme="black"]')
  const own = theme === 'black' ? new RegExp(`--${token}: (#\\w+);`).exec(black)?.[1] : undefined
  if (own !== undefined) return hexColor(own)
  const [, light, dark] = new RegExp(`--${token}: light-dark\\(([^,]+), ([^)]+)\\);`).exec(shared) ?? []
  const same = new RegExp(`--${token}: (#\\w+);`).exec(shared)?.[1]
  return hexColor((theme === 'light' ? light : dark) ?? same ?? `the token ${token}`)
}

/** WCAG 2.2, relative luminance. */
function luminance(color: Color): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as unknown as Color
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: Color, other: Color): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

const THEMES: readonly Theme[] = ['light', 'dark', 'black']
const PAPERS = ['paper', 'paper-raised', 'paper-sunken', 'paper-overlay']

function check(t: Test, pairs: readonly (readonly [front: string, back: string])[], least: number): void {
  for (const theme of THEMES)
    for (const [front, back] of pairs) {
      const found = contrast(colorOf(front, theme), colorOf(back, theme))
      t.ok(found >= least, `${front} on ${back} in ${theme}: ${found.toFixed(2)}, at least ${least}`)
    }
}

const onPapers = (fronts: readonly string[]) => fronts.flatMap((front) => PAPERS.map((back) => [front, back] as const))

t.test('Text of the web interface has a contrast of 4.5 on every paper in every theme', (t) => {
  check(t, onPapers(['ink', 'ink-2', 'ink-3', 'brass-text', 'good', 'bad', 'warn', 'info']), 4.5)
  check(
    t,
    [
      ['ink-inverse', 'ink'],
      ['brass-text', 'brass-soft'],
      ['good', 'good-soft'],
      ['bad', 'bad-soft'],
      ['warn', 'warn-soft'],
      ['info', 'info-soft'],
    ],
    4.5,
  )
  t.end()
})

t.test('Edges of controls and marks of the web interface have a contrast of 3 on every paper in every theme', (t) => {
  check(t, onPapers(['line-strong', 'brass-fill']), 3)
  t.end()
})
