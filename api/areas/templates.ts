import type { Rules } from '#core/conditions/rules.ts'
import type { Templates } from '#plugins/templates/templates.ts'

/** Rules and templates that users write. */
export interface TemplateServices {
  /** Evaluates rules that users write. */
  rules: Rules
  /** Renders templates of users and plugins. */
  templates: Templates
}
