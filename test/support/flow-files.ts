import { dirname } from 'node:path'

/** The files of each flow, by its title. */
export type FlowFiles = ReadonlyMap<string, readonly string[]>

const BEGIN = '<!-- all files of the flows: npm run flows -->\n'
const END = '<!-- end -->\n'

/** The title of the files that every request passes: other flows do not list them again. */
export const EVERY_REQUEST = 'Every request'

/** How many files a flow shall have at most. */
const AIMS: Readonly<Record<string, number>> = {
  'File → book': 60,
  'Page → client': 24,
  'PATCH of metadata → row': 16,
  'Plugin answer': 28,
}

/** Where the lists stand in docs/architecture.md. */
function findLists(page: string): [from: number, to: number] {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`docs/architecture.md has no lines ${BEGIN.trim()} and ${END.trim()}.`)
  return [from + BEGIN.length, to]
}

/** What docs/architecture.md says of the files of each flow. */
export function readFlowFiles(page: string): FlowFiles {
  const flows = page
    .slice(...findLists(page))
    .split(/^### /m)
    .slice(1)
  return new Map(
    flows.map((part) => {
      const title = (part.split('\n')[0] as string).replace(/: \d+ files.*$/, '')
      const folders = [...part.matchAll(/^- `([^`]+)\/`: (.+)$/gm)]
      return [title, folders.flatMap(([, folder, names = '']) => names.split(', ').map((name) => `${folder}/${name.replaceAll('`', '')}`))]
    }),
  )
}

/** The page with these files. */
export function writeFlowFiles(page: string, flows: FlowFiles): string {
  const parts = [...flows].map(([title, paths]) => {
    const folders = [...Map.groupBy(paths.toSorted(), (path) => dirname(path))].sort()
    const lines = folders.map(
      ([folder, files]) => `- \`${folder}/\`: ${files.map((path) => `\`${path.slice(folder.length + 1)}\``).join(', ')}`,
    )
    const aim = AIMS[title] === undefined ? '' : `; the aim is ${AIMS[title]}`
    return `### ${title}: ${paths.length} files${aim}\n\n${lines.join('\n')}\n`
  })
  const [from, to] = findLists(page)
  return `${page.slice(0, from)}\n${parts.join('\n')}\n${page.slice(to)}`
}
