import type { SourceFile } from '#test/support/architecture.ts'

/** Code whose memory has another owner: an isolate with a limit of its own, or the machine of an author of plugins. */
const ELSEWHERE = /^plugins\/(devkit|bundled|runtime\/(guest|runner)|templates\/guest)\//
const ALLOWED = new Set([
  // Ids that the server makes itself.
  ...['core/tasks/task-lane.ts: #workers', 'core/tasks/task-runner.ts: #handedBack'],
  ...['core/tasks/task-announcer.ts: #tasks', 'core/tasks/task-announcer.ts: #analyses'],
  // They end with the scan.
  ...['core/scan/withheld.ts: #facts', 'core/scan/withheld.ts: #held'],
  // Of the disk, in a thread with a limit of memory of its own.
  ...['#watchers', '#changed'].map((name) => `core/scan/watch/folder-watch.ts: ${name}`),
  // They end with the document, comparison or package that is being read or made.
  ...['#schemas', '#headers', '#responses'].map((name) => `api/docs/openapi-components.ts: ${name}`),
  ...['core/matching/title-likeness.ts: numbers', 'plugins/packages/bundled-plugins.ts: files'],
  ...['decide-folder.ts: #byStart', 'plan-moves.ts: #above'].map((name) => `core/scan/layouts/${name}`),
  ...['#found', '#decisions', '#holders'].map((name) => `core/scan/layouts/preview-layouts.ts: ${name}`),
  ...['workers/metadata/opf-metadata.ts: byName', 'workers/metadata/opf-metadata.ts: refining'],
])
const KEPT = /^(\s*)(?:export )?(?:(?:const|let) (?=\w)|(?:readonly )?(?=#))(#?\w+)\b.*= (?:.*\?\? )?new (?:Map|Set)<string\b[^(]*>\(\)/
const FUNCTION = /^(?:export )?(?:async )?function (\w+)/
/** What such a function returns works on the variables of its call. */
const OPENS = /^(open|create|make|watch|quieten)/

/** Maps and sets by any texts that outlive a call, and are no `Register` (core/foundation/register.ts): fields, variables of modules and of what is opened. */
export function findUnboundedKeys({ path, text }: SourceFile): string[] {
  if (!/^(core|api|workers|plugins)\//.test(path) || path === 'core/foundation/register.ts' || ELSEWHERE.test(path)) return []
  const found: string[] = []
  let around = ''
  for (const [index, line] of text.split('\n').entries()) {
    around = FUNCTION.exec(line)?.[1] ?? (/^\S/.test(line) && !line.startsWith('}') ? '' : around)
    const [, indent = '', name = ''] = KEPT.exec(line) ?? []
    const isKept = indent === '' || name.startsWith('#') || OPENS.test(around) || line.includes('?? new Map')
    if (name !== '' && isKept && !ALLOWED.has(`${path}: ${name}`)) found.push(`${path}:${index + 1} ${name}`)
  }
  return found
}
