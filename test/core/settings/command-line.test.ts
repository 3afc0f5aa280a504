import t from 'tap'
import { type DescribedCommand, renderCommandPage, renderProgramPage, splitFlags, wordLimits } from '#core/settings/command-line.ts'

const FLAGS = [
  { name: 'name' },
  { name: 'key', repeatable: true },
  { name: 'yes', isSwitch: true },
  { name: 'rate-limit', isSwitch: true, takesWord: true },
  { name: 'inspect', isSwitch: true, takesValue: true },
]
const split = (line: string) => splitFlags(line.split(' '), FLAGS)
const found = (values: Record<string, string[]>, words: string[], problems: string[] = []) => ({
  values: new Map(Object.entries(values)),
  words,
  problems,
})

t.test('values are found in every way of writing flags', async (t) => {
  const cases: [line: string, expected: ReturnType<typeof found>][] = [
    ['--name ada Manga', found({ name: ['ada'] }, ['Manga'])],
    ['--name=a=b', found({ name: ['a=b'] }, [])],
    ['--name=', found({ name: [''] }, [])],
    ['--name -x --key - Manga', found({ name: ['-x'], key: ['-'] }, ['Manga'])],
    ['--name -5', found({ name: ['-5'] }, [])],
    ['--key a --key=--b', found({ key: ['a', '--b'] }, [])],
    ['--yes Manga', found({ yes: ['true'] }, ['Manga'])],
    ['--no-yes', found({ yes: ['false'] }, [])],
    ['--yes=OFF', found({ yes: ['false'] }, [])],
    ['--yes off', found({ yes: ['true'] }, ['off'])],
    ['--rate-limit off Manga', found({ 'rate-limit': ['false'] }, ['Manga'])],
    ['--rate-limit Manga', found({ 'rate-limit': ['true'] }, ['Manga'])],
    ['--inspect=9300', found({ inspect: ['9300'] }, [])],
    ['--inspect 9300', found({ inspect: ['true'] }, ['9300'])],
    ['user - add', found({}, ['user', '-', 'add'])],
    ['a --yes -- --name --nix', found({ yes: ['true'] }, ['a', '--name', '--nix'])],
  ]
  for (const [line, expected] of cases) t.same(split(line), expected, line)
})

t.test('all problems are reported together, with the nearest names', async (t) => {
  t.same(split('a --naem ada b --yse --no-yes=1 --yes=maybe --key=1 --yes --name=a --name=b -x c -- --d').problems.sort(), [
    '--name is given twice; give it once.',
    '--no-yes takes no value.',
    '--yes is given twice; give it once.',
    '--yes must be on or off, not "maybe".',
    'There is no flag --naem. Did you mean --name?',
    'There is no flag --yse. Did you mean --yes?',
    'There is no flag -x.',
  ])
  const { words, values } = split('a --naem ada b --key 1 c -- --d')
  t.same(words, ['a', 'b', 'c', '--d'], 'the value of an unknown flag is not a word')
  t.same(values.get('key'), ['1'], 'and valid flags beside it count')
  t.same(split('--name --yes').problems, ['--name needs a value.'])
  t.same(split('--yes --name').problems, ['--name needs a value.'])
  t.same(split('--no-name').problems, ['There is no flag --no-name. Did you mean --name?'])
})

t.test('the number of words follows from the usage, where the command does not tell', async (t) => {
  t.same(wordLimits({ usage: '' }), [0, 0])
  t.same(wordLimits({ usage: '<file or name>' }), [1, 1])
  t.same(wordLimits({ usage: '<address> <plugin> [version]' }), [2, 3])
  t.same(wordLimits({ usage: '[folder...]', words: [0, 100] }), [0, 100])
})

t.test('help pages show the usage of a command, and wrap at the width of the layout', async (t) => {
  const command: DescribedCommand = {
    name: 'user add',
    usage: '<name>',
    summary: 'makes a user',
    about: 'Makes a user, who may read what there is.',
    flags: [
      { name: 'role', value: 'reader|admin', about: 'What the user may do; reader unless given.' },
      { name: 'yes', isSwitch: true, about: 'Asks nothing.' },
    ],
  }
  const layout = { typed: (words: string) => `carrel ${words}`, columns: 24 }
  t.equal(
    renderCommandPage(command, layout),
    `Usage: carrel user add <name> [flags]

Makes a user, who may
read what there is.

Flags:
  --role <reader|admin>
      What the user may
      do; reader unless
      given.
  --yes
      Asks nothing.`,
  )
  const list = { ...command, name: 'doctor', usage: '', summary: 'checks', flags: [] }
  t.equal(
    renderProgramPage('[command]', [command, list], layout),
    'Usage: carrel [command]\n\nCommands:\n  user add <name>  makes a user\n  doctor           checks',
  )
  t.equal(renderCommandPage(list, { ...layout, columns: 80 }), `Usage: carrel doctor [flags]\n\n${list.about}`)
})
