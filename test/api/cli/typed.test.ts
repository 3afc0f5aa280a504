import { chmod, mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { explainTaken, quoted, typed, typedOn } from '#api/cli/typed.ts'
import { root } from '#test/support/carrel-process.ts'

t.test('commands as they can be typed', async (t) => {
  const bin = path.join(t.testdir({ bin: {} }), 'bin')
  const launcher = path.join(root, 'api', 'launch.mjs')
  t.equal(typed('scan', { env: { PATH: bin }, cwd: root }), 'npm run carrel -- scan', 'there is no carrel on the PATH')
  await symlink(launcher, path.join(bin, 'carrel'))
  t.equal(typed('scan', { env: { PATH: `/nowhere:${bin}` }, cwd: '/' }), 'carrel scan')
  t.equal(typed('scan', { env: { PATH: bin, npm_lifecycle_event: 'start', INIT_CWD: root }, cwd: root }), 'npm run carrel -- scan')
  const other = path.join(t.testdir({ other: {} }), 'other')
  await mkdir(other, { recursive: true })
  await chmod(other, 0o755)
  t.match(typed('scan', { env: {}, cwd: '/srv' }), /^npm --prefix \S+ run carrel -- scan$/, 'npm finds the checkout from elsewhere')
  t.same(['a/b', "it's", 'a b', ''].map(quoted), ['a/b', "'it'\\''s'", "'a b'", "''"])
})

t.test('a command for a data folder that is not the default one names it', async (t) => {
  t.match(typedOn({ dataFolder: '/srv/my data' }, 'plugin list'), / plugin list --data-dir '\/srv\/my data'$/)
  t.match(typedOn({ dataFolder: path.resolve('data') }, 'plugin list'), / plugin list$/)
})

t.test('flags that npm took for itself are named', async (t) => {
  const flags = [
    { name: 'port', isSwitch: false },
    { name: 'data-dir', isSwitch: false },
    { name: 'rate-limit', isSwitch: true },
    { name: 'yes', isSwitch: true },
  ]
  const explain = (argv: string[], env: Record<string, string>) => explainTaken(argv, flags, { npm_lifecycle_event: 'carrel', ...env })
  t.equal(explain([], {}), null)
  t.equal(explain(['plugin', 'list'], { npm_config_yes: 'true', npm_config_registry: 'x' }), null, 'npm has that setting itself')
  t.equal(explain(['--port', '1'], { npm_config_port: '3000' }), null, 'it stands behind the dashes as well')
  t.match(
    explain(['scan', 'My Books', '80'], { npm_config_port: 'true', npm_config_data_dir: '/x' }),
    /scan 'My Books' --port 80 --data-dir \/x$/,
  )
  t.match(explain([], { npm_config_rate_limit: '' }), /npm run carrel -- --no-rate-limit$/)
  t.equal(explainTaken([], flags, { npm_config_port: '1' }), null, 'without npm there is nobody to take it')
})
