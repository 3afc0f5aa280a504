import t from 'tap'
import { formatLine, newLogger } from '#api/cli/logger.ts'
import { Terminal } from '#api/cli/terminal.ts'

function record(isTTY: boolean) {
  let text = ''
  let now = 0
  const output = {
    isTTY,
    columns: 20,
    write(chunk: string) {
      text += chunk
    },
  }
  return {
    terminal: new Terminal(output, () => now),
    wait(ms: number) {
      now += ms
    },
    take() {
      const taken = text
      text = ''
      return taken
    },
  }
}

t.test('on a terminal progress is one line, rewritten at most once a second', async (t) => {
  const { terminal, wait, take } = record(true)
  terminal.progress('1 of 9')
  t.equal(take(), '1 of 9')
  wait(400)
  terminal.progress('2 of 9')
  t.equal(take(), '')
  wait(700)
  terminal.progress('3 of 9')
  t.equal(take(), '\r\u001b[2K3 of 9')
  terminal.line('news')
  t.equal(take(), '\r\u001b[2Knews\n3 of 9', 'other lines go above it')
  wait(1000)
  terminal.progress('a line that is much too long for it')
  t.equal(take(), '\r\u001b[2Ka line that is much', 'and it never wraps')
  terminal.progressDone()
  t.equal(take(), '\r\u001b[2K')
  terminal.line('end')
  t.equal(take(), 'end\n')
})

t.test('elsewhere progress is a line every ten seconds', async (t) => {
  const { terminal, wait, take } = record(false)
  terminal.progress('1 of 9')
  wait(9_000)
  terminal.progress('2 of 9')
  wait(1_000)
  terminal.progress('3 of 9')
  terminal.line('news')
  terminal.progressDone()
  t.equal(take(), '1 of 9\n3 of 9\nnews\n')
})

t.test('the log for people and for machines', async (t) => {
  const lines: string[] = []
  const pretty = newLogger({ level: 'info', format: 'pretty' }, (line) => lines.push(line))
  pretty.debug({}, 'not shown')
  pretty.info({ pid: 7, path: '/a b' }, 'Started')
  pretty.warn({ error: new Error('disk full') }, 'Not written')
  pretty.error({ err: new TypeError('a bug') }, 'Broken')
  pretty.info({ password: 'secret', user: { token: 'secret' } }, 'Careless')
  t.match(lines[0], /^\d\d:\d\d:\d\d {2}Started {2}pid=7 {2}path="\/a b"\n$/)
  t.match(lines[1], /warning: Not written\n +disk full\n$/)
  t.match(lines[2], /error: Broken\n +TypeError: a bug\n +at /)
  t.notMatch(lines.join(''), 'secret')
  t.equal(lines.length, 4)

  const json: string[] = []
  newLogger({ level: 'debug', format: 'json' }, (line) => json.push(line)).debug({ n: 1 }, 'Shown')
  t.match(JSON.parse(json[0]!), { level: 20, n: 1, msg: 'Shown' })
  newLogger({ level: 'silent', format: 'json' }, (line) => json.push(line)).error({}, 'Nobody hears')
  t.equal(json.length, 1)
  t.match(formatLine('{"level":30,"time":0,"msg":"m","error":"text"}'), /m\n +text\n$/)

  const hostile = 'a\u001b]0;x\u0007\u009b2J\u007f'
  const shown = [pretty, pretty].map((log, at) => {
    lines.length = 0
    if (at === 0) log.info({ path: hostile, more: { path: hostile } }, hostile)
    else log.error({ error: new Error(hostile) }, 'Broken')
    return lines.join('')
  })
  for (const text of shown) {
    t.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/, 'no control character reaches the terminal')
    t.match(text, 'a\\x1b]0;x\\x07\\u009b2J\\u007f')
  }
  t.match(shown[1], /\n +at /, 'a stack keeps its lines')
  t.match(formatLine('{"level":30,"time":0,"msg":"two\\nlines"}'), /two\\nlines\n$/)
})
