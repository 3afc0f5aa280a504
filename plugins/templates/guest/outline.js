/** Finds the fields that a template uses, without rendering it. */
;(function outlining() {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'

  const { Handlebars, parts } = globalThis
  const { TemplateError, knownHelpers, isKnown, readTemplate, failure } = parts

  /** Total characters of the paths: names inside of a list repeat its name, and the server parses all of them. */
  const PATHS_LENGTH_MAX = 256 * 1024

  /**
   * The fields that a template uses: { paths: { path, line, column }[], whole }. Inside of lists a path has `[]` for the entry. `whole`
   * when it may use any field; or { error }.
   */
  function outline({ template }) {
    try {
      const { tree } = readTemplate(template)
      Handlebars.precompile(tree, { knownHelpers, knownHelpersOnly: true })
      const paths = []
      const whole = { is: false }
      readProgram(tree, { base: '', names: {}, parent: null }, { paths, whole, length: 0 })
      return { paths, whole: whole.is }
    } catch (error) {
      return failure(error)
    }
  }

  function readProgram(program, scope, found) {
    for (const node of program?.body ?? []) {
      if (node.type === 'MustacheStatement') readCall(node, scope, found)
      else if (node.type === 'BlockStatement') readBlock(node, scope, found)
    }
  }

  function readCall({ path, params, hash }, scope, found) {
    const isHelper = path.type === 'PathExpression' && isKnown(path.original) && (params.length > 0 || path.parts.length === 1)
    if (!isHelper || params.length === 0) readValue(path, scope, found)
    // A computed key may refer to any member.
    for (const param of params) readValue(param, scope, found)
    for (const pair of hash?.pairs ?? []) readValue(pair.value, scope, found)
  }

  /** Records a path; returns what it refers to, null when unknown. */
  function readValue(node, scope, found) {
    if (node.type === 'SubExpression') {
      readCall(node, scope, found)
      return null
    }
    if (node.type !== 'PathExpression') return null
    const resolved = resolve(node, scope)
    if (resolved === null) return null
    if (resolved === '') found.whole.is = true
    else addPath(found, { path: resolved, line: node.loc.start.line, column: node.loc.start.column + 1 })
    return resolved
  }

  function addPath(found, field) {
    found.length += field.path.length
    if (found.length > PATHS_LENGTH_MAX)
      throw new TemplateError('invalid_template', `The names of the fields have more than ${PATHS_LENGTH_MAX} characters in total.`, field)
    found.paths.push(field)
  }

  function resolve(node, scope) {
    const [head, ...rest] = node.parts
    if (node.data) return head === 'root' ? rest.join('.') : null
    let at = scope
    for (let up = node.depth; up > 0 && at; up--) at = at.parent
    if (!at) return null
    if (node.depth === 0 && head !== undefined && !/^(this|\.)/.test(node.original)) {
      for (let named = scope; named; named = named.parent)
        if (Object.hasOwn(named.names, head)) return named.names[head] === null ? null : [named.names[head], ...rest].join('.')
    }
    if (at.base === null) return null
    return [at.base, ...node.parts].filter((part) => part !== '').join('.')
  }

  function readBlock(node, scope, found) {
    const { path, params, hash, program, inverse } = node
    const name = path.original
    const isHelper = isKnown(name)
    const about = isHelper && params.length > 0 ? readValue(params[0], scope, found) : isHelper ? null : readValue(path, scope, found)
    for (const param of params.slice(1)) readValue(param, scope, found)
    for (const pair of hash?.pairs ?? []) readValue(pair.value, scope, found)
    // A section over a list, an object or a boolean: the meaning of its names depends on the value.
    if (!isHelper) found.whole.is = true
    let inner = scope
    if (name === 'each' || name === 'with' || !isHelper) {
      const base = about === null || !isHelper ? null : name === 'each' ? `${about}[]` : about
      const [first, second] = program?.blockParams ?? []
      const names = { ...(first !== undefined && { [first]: base }), ...(second !== undefined && { [second]: null }) }
      inner = { base, names, parent: scope }
    }
    readProgram(program, inner, found)
    readProgram(inverse, scope, found)
  }

  parts.outline = outline
})()
