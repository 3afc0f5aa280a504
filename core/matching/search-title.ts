import type { Context } from '#core/conditions/context.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import type { RenderTemplate } from '#core/templates/render-template.ts'

/** The search text for a provider, and how it was made. */
export interface SearchTitle {
  originalTitle: string
  searchTitle: string
  /** How many rules changed it. */
  rulesApplied: number
}

export const titleOf = (context: Context): string => context.metadata.title ?? ''

/**
 * Renders the template of the provider, then applies its rules. An empty result is replaced by the unchanged title: an empty search matches anything.
 */
export async function searchTitle(
  { render, rules }: { render: RenderTemplate; rules: Rules },
  matching: MatchingSettings,
  context: Context,
): Promise<SearchTitle> {
  const originalTitle = titleOf(context)
  let text = originalTitle
  if (matching.searchQueryTemplate) {
    const [rendered] = await render(matching.searchQueryTemplate, [context])
    if (rendered !== undefined && !('error' in rendered)) text = rendered.output.replace(/\s+/g, ' ').trim()
  }
  const { title, applied } = await rules.applyTitleRules(matching.searchPreprocessingRules, text)
  return { originalTitle, searchTitle: title.trim() === '' ? originalTitle : title, rulesApplied: applied }
}
