import type HandlebarsModule from 'handlebars'

/** The isolate runs the file of the package first, which defines it. */
const global = globalThis as { Handlebars?: typeof HandlebarsModule }
export const Handlebars = global.Handlebars as typeof HandlebarsModule & { Utils: { escapeExpression: (value: unknown) => string } }
delete global.Handlebars
