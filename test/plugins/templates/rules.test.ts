import { readFile } from 'node:fs/promises'
import t from 'tap'
import type { Context } from '#core/conditions/context.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { findRules } from '#test/support/supervisor.ts'
import { buildRules } from '../../../plugins/templates/guest/rules/build.mjs'

t.setTimeout(60_000)

t.test('the program of the isolate matches its source', async (t) => {
  const committed = await readFile(new URL('../../../plugins/templates/guest/rules/main.js', import.meta.url), 'utf8')
  t.equal(committed, await buildRules(), 'plugins/templates/guest/rules/main.js is stale: run node plugins/templates/guest/rules/build.mjs')
})

t.test('conditions are validated, evaluated and explained in the isolate', async (t) => {
  const rules = findRules()
  const context = { metadata: { title: 'Die Straße', year: 1999 } } as unknown as Context
  const condition = { rules: [{ field: 'metadata.title', operator: 'matches', value: '(?i)^die' }] }
  await rules.checkCondition(condition, '/condition')
  t.equal(await rules.passes(condition, context), true)
  t.match(await rules.explain(condition, context, ''), { passed: true, rules: [{ actual: 'Die Straße', passed: true }] })
  t.equal(await rules.passes({ rules: [{ field: 'metadata.year', operator: 'lt', value: 1999 }] }, context), false)
  await t.rejects(rules.checkCondition({ rules: [{ field: 'a', operator: 'matches', value: '(' }] }, '/here'), {
    code: 'invalid_value',
    details: [{ path: '/here/rules/0/value' }],
  })
  await t.rejects(rules.passes(condition, { metadata: { title: 'x'.repeat(3_000_000) } } as unknown as Context), {
    code: 'payload_too_large',
  })
})

t.test('title rules are validated and applied in the isolate, for any number of titles', async (t) => {
  const rules = findRules()
  const given = [
    { pattern: '\\s*\\((\\d{4})\\)$', replacement: '' },
    { pattern: '^(\\w+), The$', replacement: 'The $1' },
  ]
  await rules.checkTitleRules(given)
  const titles = Array.from({ length: 1_200 }, (_, index) => `Boys ${index}, The (2006)`)
  const rewritten = await rules.rewriteTitles(given, titles)
  t.equal(rewritten.length, 1_200)
  t.equal(rewritten[1_199], 'Boys 1199, The')
  t.same(await rules.rewriteTitles([{ ...given[0], enabled: false }], ['a (2006)']), ['a (2006)'])
  t.same(await rules.rewriteTitles(null, ['a (2006)']), ['a (2006)'])
  t.same(await rules.applyTitleRules(given, 'Boys, The (2006)'), { title: 'The Boys', applied: 2 })
  t.same(await rules.applyTitleRules(undefined, 'x'), { title: 'x', applied: 0 })
  await t.rejects(rules.checkTitleRules([{ pattern: '(', replacement: '' }]), { code: 'invalid_value', message: /title rule 1/ })
  const costly = [{ pattern: '(a?){700}', replacement: 'x' }]
  const long = Array.from({ length: 12 }, () => 'a'.repeat(500))
  t.equal((await rules.rewriteTitles(costly, long)).length, 12, 'in several calls')
})

t.test('runs of marks in a rule or a value are fast', onlyCost, async (t) => {
  const marks = `a${'\u0315\u0300'.repeat(30_000)}`
  const rules = findRules()
  const context = { metadata: { title: marks, summary: marks } } as unknown as Context
  const begun = performance.now()
  for (const operator of ['equals', 'contains', 'starts_with', 'gt'])
    await rules.passes({ rules: [{ field: 'metadata.summary', operator, value: 'a\u0315\u0300' }] }, context)
  await rules
    .checkCondition({ rules: [{ field: 'metadata.title', operator: 'equals', value: marks }] }, '/condition')
    .catch((error: unknown) => t.match(error, { code: 'invalid_value' }))
  const took = performance.now() - begun
  t.comment(`${Math.round(took)} ms`)
  t.ok(took < 15_000, 'unlimited, each of the five took six seconds')
})
