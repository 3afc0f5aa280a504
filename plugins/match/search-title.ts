import { compileTitleRules } from '#core/library/title-rules.ts'
import type { Matching } from '#core/plugin/plugin-store.ts'
import type { Context } from '#core/template/context.ts'
import type { Templates } from '#plugins/template/templates.ts'

/** What a plugin is asked for, and where it comes from. */
export interface SearchTitle {
  originalTitle: string
  searchTitle: string
  /** How many rules changed it. */
  rulesApplied: number
}

export const titleOf = (context: Context): string => String((context as { metadata: { title?: unknown } }).metadata.title ?? '')

/**
 * The template of the plugin over the context, then its rules. What comes to nothing is the title as it is: a search for nothing finds anything.
 */
export async function searchTitle(templates: Templates, matching: Matching, context: Context): Promise<SearchTitle> {
  const originalTitle = titleOf(context)
  let text = originalTitle
  if (matching.searchQueryTemplate) {
    const [rendered] = await templates.renderMany(matching.searchQueryTemplate, [context])
    if (rendered !== undefined && !('error' in rendered)) text = rendered.output.replace(/\s+/g, ' ').trim()
  }
  let rulesApplied = 0
  for (const rule of matching.searchPreprocessingRules ?? []) {
    const changed = compileTitleRules([rule])(text)
    if (changed !== text) rulesApplied += 1
    text = changed
  }
  return { originalTitle, searchTitle: text.trim() === '' ? originalTitle : text, rulesApplied }
}
