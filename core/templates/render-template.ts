/** The output for one context, or why rendering failed. */
export type Rendered = { output: string } | { error: TemplateProblem }

export interface TemplateProblem {
  /** `invalid_template`, `unknown_helper`, `output_too_long`, or `failed`. */
  code: string
  message: string
  /** From 1; null when the error has no position. */
  line: number | null
  column: number | null
}

/** Renders one template over many contexts. @throws invalid_value for a template that is invalid or takes too long */
export type RenderTemplate = (template: string, contexts: readonly object[]) => Promise<Rendered[]>
