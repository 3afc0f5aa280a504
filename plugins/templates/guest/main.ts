import { outline } from './outline.ts'
import { render } from './render.ts'
import { KNOWN } from './vocabulary.ts'

/** The program of the isolate for templates. Text in, text out. */
declare const register: (functions: Record<string, (given: never) => unknown>) => void

register({ render, outline, names: () => KNOWN })
