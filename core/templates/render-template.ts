/** One context made into a text, or why it could not be. */
export type Rendered = { output: string } | { error: TemplateFault }

export interface TemplateFault {
  /** `invalid_template`, `unknown_helper`, `output_too_long`, or `failed`. */
  code: string
  message: string
  /** From 1; null where the fault has no place. */
  line: number | null
  column: number | null
}

/** Renders one template over many contexts. @throws invalid_value for a template that is none or takes too much */
export type RenderTemplate = (template: string, contexts: readonly object[]) => Promise<Rendered[]>
