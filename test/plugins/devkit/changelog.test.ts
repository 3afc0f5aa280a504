import t from 'tap'
import { checkNews, indexedEntry, newsOf, withEntry } from '#plugins/devkit/changelog.ts'

t.test('an entry stands before those of the earlier versions, in their form', async (t) => {
  t.equal(withEntry(null, '1.0.0', 'First.'), '# Changelog\n\n## 1.0.0\n\nFirst.\n')
  t.equal(withEntry('# 1.0.0\n\nFirst.\n', '1.1.0', 'Second.\n\n- More'), '# 1.1.0\n\nSecond.\n\n- More\n\n# 1.0.0\n\nFirst.\n')
  const changelog = withEntry('# Changelog\n\nAll changes.\n\n## [1.0.0] - 2026-01-01\n\nFirst.\n', '1.1.0', 'Second.')
  t.equal(changelog, '# Changelog\n\nAll changes.\n\n## 1.1.0\n\nSecond.\n\n## [1.0.0] - 2026-01-01\n\nFirst.\n')
  t.equal(newsOf(changelog, '1.1.0'), 'Second.')
  t.equal(newsOf(changelog, '1.0.0'), 'First.')
  t.equal(newsOf(changelog, '1.1'), null)
  t.equal(newsOf('## v2.0.0-beta.1 (today)\r\n\r\nNew\r\n', '2.0.0-beta.1'), 'New')
})

t.test('an index gets only an entry that it can have', async (t) => {
  t.equal(indexedEntry('# 1.0.0\n\nFirst.', '1.0.0'), 'First.')
  for (const text of ['', 'a'.repeat(4_001), 'turned \u202e around']) t.equal(indexedEntry(`# 1.0.0\n\n${text}`, '1.0.0'), undefined)
})

t.test('an entry that nobody could read is refused with advice', async (t) => {
  t.equal(checkNews('  New.\r\n- More\n'), 'New.\n- More')
  for (const [text, complaint] of [
    [' \n', /is empty\. Write a line/],
    ['a'.repeat(4_001), /has 4001 characters; the limit of one version is 4000/],
    ['a\u202eb', /must not contain control, direction/],
    ['## 1.2.0\nNew', /contains the heading of a version: "## 1\.2\.0"\. Leave it out/],
  ] as const)
    t.throws(() => checkNews(text), complaint)
})
