import { outline } from './outline.ts'
import { render } from './render.ts'
import { KNOWN } from './vocabulary.ts'

/** The program of the isolate for templates. Text in, text out. */
declare const register: (functions: Record<string, (given: never) => unknown>) => void

register({ render, outline, names: () => KNOWN })

// V8 compiles a function when it is first called, and a template needs a parser and a compiler: that counts as loading, not as the first template.
const FIRST = '{{#if title}}{{title}}{{else}}{{uppercase "-"}}{{/if}}'
outline({ template: FIRST })
render({ template: FIRST, contexts: [{ title: 'A' }] })
