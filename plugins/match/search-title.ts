import type { Matching } from '#core/plugin/plugin-store.ts'
import type { Context } from '#core/template/context.ts'
import type { Rules } from '#core/template/rules.ts'
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
export async function searchTitle(
  { templates, rules }: { templates: Templates; rules: Rules },
  matching: Matching,
  context: Context,
): Promise<SearchTitle> {
  const originalTitle = titleOf(context)
  let text = originalTitle
  if (matching.searchQueryTemplate) {
    const [rendered] = await templates.renderMany(matching.searchQueryTemplate, [context])
    if (rendered !== undefined && !('error' in rendered)) text = rendered.output.replace(/\s+/g, ' ').trim()
  }
  const { title, applied } = await rules.applyTitleRules(matching.searchPreprocessingRules, text)
  return { originalTitle, searchTitle: title.trim() === '' ? originalTitle : title, rulesApplied: applied }
}
