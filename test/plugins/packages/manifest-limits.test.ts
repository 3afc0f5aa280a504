import t from 'tap'
import { Manifest } from '#plugins/packages/manifest.ts'
import { ConfigSchema, checked } from '#plugins/packages/plugin-config.ts'
import { RepositoryIndex } from '#plugins/repositories/index-file.ts'
import { unboundedIn } from '#test/support/schema-limits.ts'

t.test('every text, number, list and map of a manifest, a configuration schema and an index has a limit', async (t) => {
  t.same(unboundedIn(Manifest, 'manifest'), [])
  t.same(unboundedIn(ConfigSchema, 'config'), [])
  t.same(unboundedIn(RepositoryIndex, 'index'), [])
})

t.test('so has every value of a configuration, even without one in its schema', async (t) => {
  const values = [
    { type: 'string' },
    { type: 'string', format: 'uri' },
    { type: 'number' },
    { type: 'integer' },
    { type: 'boolean' },
  ] as const
  for (const value of values) {
    t.same(unboundedIn(checked(value), value.type), [])
    t.same(unboundedIn(checked({ type: 'array', items: value }), `${value.type}[]`), [])
  }
  t.not(unboundedIn({ type: 'string' }, 'it').length, 0, 'the walk bites')
})
