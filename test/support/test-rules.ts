import type { SourceFile } from '#test/support/architecture.ts'

const MEASURES = /\bimport \{([^}]*)\} from '#test\/support\/cpu-time\.ts'/
const NODE_MEASURES = ['process\\.cpuUsage', 'threadCpuUsage', 'heapUsed']
/** The beginning of a statement of the file itself, which the formatter puts at the beginning of a line. */
const STATEMENT = /^(?=[^\s)}\]])/m
const DECLARED = /^(?:export )?(?:async )?(?:function|const) (\w+)/

/** The statements of the file itself, each with all its lines. */
const statementsOf = (text: string): string[] => text.split(STATEMENT)

/** Tests that measure CPU time or the heap, by themselves or by a function of their file, without `onlyCost`. */
export function findUnmarkedCosts({ path, text }: SourceFile): string[] {
  const imported =
    MEASURES.exec(text)?.[1]
      ?.split(',')
      .map((name) => name.replace('type ', '').trim()) ?? []
  const names = [...NODE_MEASURES, ...imported.filter((name) => name !== '')]
  const statements = statementsOf(text)
  const isMeasuring = (statement: string) => new RegExp(`\\b(${names.join('|')})\\b`).test(statement)
  // What a function calls may be declared after it.
  for (let before = -1; before < names.length; ) {
    before = names.length
    for (const statement of statements) {
      const declared = DECLARED.exec(statement)?.[1]
      if (declared && !names.includes(declared) && isMeasuring(statement)) names.push(declared)
    }
  }
  return statements
    .filter((statement) => /^t\.test\(/.test(statement) && isMeasuring(statement) && !/\bonlyCost\b/.test(statement))
    .map((statement) => `${path}: ${statement.slice(0, 100).split('async')[0]?.trim()} measures without onlyCost`)
}

const PAUSE = /\b(?:sleep|setTimeout)\((?:.*, )?(\d[\d_]*)\)/
/** Shorter ones cost little and decide nothing. */
const PAUSE_MS = 100
/** What is asked again and again, what ends a race, and what runs in the sandbox of a plugin. */
const NO_PAUSE = /^\s*(?:for|while) \(|Promise\.race|\bt\.setTimeout|ctx\.sleep|pg_sleep/

/** Pauses of a tenth of a second and more without a comment that says why they are so long. */
export function findUnexplainedPauses({ path, text }: SourceFile): string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const ms = Number(PAUSE.exec(line)?.[1]?.replaceAll('_', '') ?? 0)
    const isExplained = line.includes('//') || /^\s*(?:\/\/|\*|\/\*)/.test(lines[index - 1] ?? '')
    return ms < PAUSE_MS || isExplained || NO_PAUSE.test(line)
      ? []
      : [`${path}:${index + 1}: a pause of ${ms} ms without a reason beside it`]
  })
}

const TITLE = /^\s*(?:await )?t\.test\((?:\n\s*)?(['"`])(.*?)\1,/gm
const WORDS_MIN = 4

/** Titles of tests that are no sentence: nobody can read them alone, in the list of what failed. */
export const findShortTitles = ({ path, text }: SourceFile): string[] =>
  [...text.matchAll(TITLE)]
    .map(([, , title = '']) => title)
    .filter((title) => title.split(' ').length < WORDS_MIN && !title.includes('${'))
    .map((title) => `${path}: "${title}" is no sentence`)

/** Statements that end what others do, in a database cluster that all tests share, without the name of the test's own database. */
export function findForeignEndings({ path, text }: SourceFile): string[] {
  const statements = text.match(/[`'"]\s*SELECT pg_(?:terminate|cancel)_backend[^`"]*/g) ?? []
  return statements
    .filter((statement) => !statement.includes('current_database()'))
    .map(
      (statement) =>
        `${path}: ${statement.slice(1, 80)} … ends connections of other tests, too: compare the database with current_database()`,
    )
}
