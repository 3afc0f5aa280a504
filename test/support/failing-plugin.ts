/** A plugin that fails in the requested way. A comment at the end of a line names the failure that must report this line. */
export const FAILING = `import { definePlugin, NotFoundError } from '@carrel/plugin-sdk'

interface Shelf {
  books: { title: string }[]
}

function titleOf(shelf: Shelf, at: number): string {
  return shelf.books[at]!.title // deep
}

async function forgotten(): Promise<void> {
  await Promise.resolve()
  throw new TypeError('nobody waits for me') // rejection
}

const ways: Record<string, () => unknown> = {
  throw: () => {
    throw new Error('thrown at once') // throw
  },
  deep: () => titleOf({ books: [] }, 3),
  async: async () => {
    await Promise.resolve()
    throw new Error('thrown later') // async
  },
  rejection: () => {
    void forgotten()
    return 'fine'
  },
  stuck: () =>
    new Promise(() => {
      void forgotten()
    }),
  timer: () =>
    new Promise(() => {
      setTimeout(() => {
        throw new RangeError('thrown in a timer') // timer
      }, 10)
    }),
  spin: () => {
    let count = 0
    while (count >= 0) count += 1 // spin
  },
  kit: () => {
    throw new NotFoundError('there is no such book') // kit
  },
}

export default definePlugin({
  metadata: {
    series: {
      async search({ query }, ctx) {
        if (query === 'fetch') await ctx.http.json('https://unknown.example.org/') // fetch
        if (query === 'missing') await ctx.http.json('https://api.example.org/missing') // missing
        const title = String((await ways[query]?.()) ?? 'nothing')
        return { results: [{ externalId: '1', title }] }
      },
      async get({ externalId }) {
        return { externalId, title: externalId }
      },
    },
  },
})
`

/** Matches the place of a failure: its line, and any column. */
export function lineOf(way: string): RegExp {
  const line = FAILING.split('\n').findIndex((text) => text.endsWith(`// ${way}`)) + 1
  if (line === 0) throw new Error(`No line has the comment ${way}.`)
  return new RegExp(`src/main\\.ts:${line}:\\d+`)
}
