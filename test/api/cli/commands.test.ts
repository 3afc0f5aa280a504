import t from 'tap'
import { commands, findCommand } from '#api/cli/commands.ts'
import { checkLibraryFolder } from '#api/cli/doctor.ts'
import { renderCommandHelp, renderOverview } from '#api/cli/help.ts'
import { chooseLibrary } from '#api/cli/library.ts'
import { count, printSummary, renderProgress } from '#api/cli/library-report.ts'
import { Terminal } from '#api/cli/terminal.ts'

t.test('which command a line means', async (t) => {
  const cases: [line: string, name: string | null, rest: string[], asksHelp: boolean][] = [
    ['', 'serve', [], false],
    ['--port 1', 'serve', ['--port', '1'], false],
    ['serve --port 1', 'serve', ['--port', '1'], false],
    ['~/Comics --port 1', 'serve', ['~/Comics', '--port', '1'], false],
    ['./Comics', 'serve', ['./Comics'], false],
    ['user add ada --role admin', 'user add', ['ada', '--role', 'admin'], false],
    ['library list', 'library list', [], false],
    ['scan --deep', 'scan', ['--deep'], false],
    ['--help', null, [], true],
    ['help', null, [], true],
    ['help scan', 'scan', [], true],
    ['user add -h', 'user add', [], true],
    ['user --help', 'user add, user list, user show, user access, user role, user reset-password, user remove', [], true],
    ['help user', 'user add, user list, user show, user access, user role, user reset-password, user remove', [], true],
    ['library -h', 'library add, library list, library edit, library preview, library remove, library missing', [], true],
    ['user ad --help', 'user add, user list, user show, user access, user role, user reset-password, user remove', ['ad'], true],
    ['user add -- --help', 'user add', ['--', '--help'], false],
  ]
  for (const [line, name, rest, asksHelp] of cases) {
    const found = findCommand(line.split(' ').filter((word) => word !== ''))
    const { command } = found
    const named =
      command === null
        ? null
        : [command]
            .flat()
            .map((each) => each.name)
            .join(', ')
    t.same({ name: named, rest: found.rest, asksHelp: found.asksHelp }, { name, rest, asksHelp }, line)
  }
  t.throws(() => findCommand(['serv']), /no command "serv".*Did you mean npm run carrel -- serve\?/)
  t.throws(() => findCommand(['usr', 'add']), /Did you mean npm run carrel -- user add\?/)
  t.throws(() => findCommand(['user']), /Use npm run carrel -- user add or user list or user show or user access or user role/)
  t.throws(() => findCommand(['usr', '--help']), /no command "usr"/)
  t.throws(() => findCommand(['library', 'ad']), /Did you mean library add\?/)
})

t.test('help tells of every command and flag', async (t) => {
  const overview = renderOverview(commands)
  for (const command of commands) {
    t.match(overview, command.summary)
    const help = renderCommandHelp(command)
    t.match(help, command.about)
    for (const flag of command.flags) t.match(help, `--${flag.name}`)
  }
  const ofUsers = renderCommandHelp(commands.filter((command) => command.name.startsWith('user ')))
  for (const wanted of ['-- user add <name>', '-- user reset-password <name>', '--role', '--password-file']) t.match(ofUsers, wanted)
})

t.test('the library a person means', async (t) => {
  const libraries = [
    { id: '1', name: 'Comics', path: '/srv/comics', isActive: true },
    { id: '2', name: 'Books', path: '/srv/books', isActive: true },
    { id: '3', name: 'Books', path: '/srv/more', isActive: true },
  ]
  t.equal(chooseLibrary(libraries, 'Comics', '/').id, '1')
  t.equal(chooseLibrary(libraries, '3', '/').id, '3')
  t.equal(chooseLibrary(libraries, 'books', '/srv').id, '2', 'a folder, from where one stands')
  t.throws(() => chooseLibrary(libraries, 'Books', '/'), /More than one.*2, 3/)
  t.throws(() => chooseLibrary(libraries, 'Comic', '/'), /Did you mean Comics\?/)
})

t.test('the progress of scans and analyses is printed in words', async (t) => {
  t.equal(count(1, 'book'), '1 book')
  t.equal(count(1234, 'book'), '1,234 books')
  t.equal(count(2, 'series'), '2 series')
  const idle = { scans: [], books: 1500, failed: 1, analyses: 0, libraryAnalyses: 0 }
  t.equal(renderProgress(idle), null)
  t.equal(renderProgress({ ...idle, analyses: 500 }), 'analyzing: 1,000 of 1,500 books, 1 failed')
  t.equal(renderProgress({ ...idle, failed: 0, analyses: 2000 }), 'analyzing: 0 of 1,500 books', 'a book can be in line twice')
  t.equal(renderProgress({ ...idle, libraryAnalyses: 1 }), 'queueing books for analysis')
  t.equal(renderProgress({ ...idle, scans: [{ library: 'Comics', filesTotal: 10, filesProcessed: 3 }] }), 'scanning Comics: 3 of 10 files')
})

t.test('a summary tells of books that wait', async (t) => {
  const written: string[] = []
  const out = new Terminal({ write: (text) => written.push(text) })
  printSummary(out, { libraries: [], books: 7, pending: 2, failures: [] })
  t.match(written.join(''), /Books +7 found, none failed, 2 wait for analysis/)
  written.length = 0
  printSummary(out, { libraries: [], books: 7, pending: 0, failures: [] })
  t.notMatch(written.join(''), /wait/)
})

t.test('folders of books that have something wrong', async (t) => {
  const folder = t.testdir({ full: { 'a.cbz': '' }, empty: {}, file: '' })
  t.match(await checkLibraryFolder(`${folder}/full`), { state: 'ok' })
  t.match(await checkLibraryFolder(`${folder}/empty`), { state: 'problem', found: /is empty/ })
  t.match(await checkLibraryFolder(`${folder}/file`), { state: 'problem', found: /is a file/ })
  t.match(await checkLibraryFolder(`${folder}/none`), { state: 'problem', found: /does not exist/ })
})
