import t from 'tap'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(60_000)

t.test('an icon is a picture', async (t) => {
  for (const [name, text, isPicture] of [
    ['icon.png', 'hi', false],
    ['icon.png', '<svg xmlns="http://www.w3.org/2000/svg"/>', false],
    ['icon.svg', 'hi', false],
    ['icon.svg', '<html><svg/></html>', false],
    ['icon.svg', '<?xml version="1.0"?>\n<!-- of us -->\n<svg xmlns="http://www.w3.org/2000/svg"/>', true],
  ] as const) {
    const folder = await openPluginFolder(t, { files: { [name]: text } })
    const { code, stdout } = await runTool(folder, ['validate'])
    t.equal(code, isPicture ? 0 : 1, `${name}: ${text}`)
    if (!isPicture) t.match(stdout, new RegExp(`✖ error +files +${name.replace('.', '\\.')} is not an? (PNG|SVG) picture`))
  }
})
