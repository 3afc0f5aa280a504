import { type AST, RegExpParser } from '@eslint-community/regexpp'

/**
 * Finds regular expressions that a backtracking engine may need more than linear time for. The expression becomes an automaton of its
 * characters; it is ambiguous where one text has two paths (Weber and Seidl, "On the degree of ambiguity of finite automata", 1991):
 *
 * - exponential: two different paths lead from a character of a loop back to it over the same text, as in `(a*)*` or `(a|a)*`;
 * - quadratic or more: two loops follow each other, and a text matches the first, the second, and the path between them, as in `a*a*`. A search that
 *   may begin anywhere counts as a loop in front, so `a*b` is quadratic too: from each `a` the engine reads all that follow and fails.
 *
 * A loop after which nothing can fail does not count: the engine never backtracks into it. For the second kind, bounded repetitions with a small
 * bound are not loops; for the first kind, nested ones are. The content of a lookaround is read like any other, and leads nowhere.
 */
export type Ambiguity = 'exponential' | 'polynomial'

/** Larger repetitions count as unbounded: on a text of 20,000 characters these are 20 million steps, a tenth of a second. */
const REPEAT_MAX = 1_000
/** Copies that represent a bounded repetition. */
const COPIES_MAX = 3

/** Null when the expression takes linear time. */
export function findAmbiguity(expression: RegExp): Ambiguity | null {
  const parsed = new RegExpParser().parseLiteral(String(expression))
  if (hasExponential(buildAutomaton(parsed, true))) return 'exponential'
  return hasPolynomial(buildAutomaton(parsed, false)) ? 'polynomial' : null
}

/** Each character of the expression that consumes text is a state. In state 0, an unanchored search skips text. */
interface Automaton {
  /** For each state the characters, by their index among the samples, that lead into it. */
  accepts: ReadonlySet<number>[]
  /** For each state the states that may follow, and the number of paths to each (2 means two or more). */
  next: Map<number, number>[]
  /** Whether the expression may end after a state, whatever follows. */
  ends: boolean[]
}

/** A piece of the expression under construction: how it is entered and left, and whether it may be empty. */
interface Piece {
  first: Map<number, number>
  last: Map<number, number>
  /** The number of paths through it without a character. */
  empty: number
}

const join = (into: Map<number, number>, from: ReadonlyMap<number, number>, ways = 1) => {
  if (ways > 0) for (const [state, count] of from) into.set(state, Math.min(2, (into.get(state) ?? 0) + count * ways))
}

function buildAutomaton({ pattern, flags }: AST.RegExpLiteral, endless: boolean): Automaton {
  const samples = samplesOf(pattern.raw)
  const automaton: Automaton = { accepts: [], next: [], ends: [] }
  const addState = (accepts: ReadonlySet<number>): number => {
    automaton.next.push(new Map())
    return automaton.accepts.push(accepts) - 1
  }
  const link = (from: ReadonlyMap<number, number>, to: ReadonlyMap<number, number>) => {
    for (const [state, ways] of from) join(automaton.next[state] as Map<number, number>, to, ways)
  }
  const nothing = (): Piece => ({ first: new Map(), last: new Map(), empty: 1 })
  const dead: ReadonlySet<number> = new Set()

  function character(raw: string): Piece {
    const one = new RegExp(`^(?:${raw})$`, flags.raw.replaceAll(/[gy]/g, ''))
    const state = addState(new Set(samples.flatMap((sample, index) => (one.test(sample) ? [index] : []))))
    return { first: new Map([[state, 1]]), last: new Map([[state, 1]]), empty: 0 }
  }

  function sequence(pieces: Piece[]): Piece {
    return pieces.reduce((before, after) => {
      link(before.last, after.first)
      const whole: Piece = { first: new Map(before.first), last: new Map(after.last), empty: 0 }
      join(whole.first, after.first, before.empty)
      join(whole.last, before.last, after.empty)
      whole.empty = Math.min(2, before.empty * after.empty)
      return whole
    }, nothing())
  }

  function choice(pieces: Piece[]): Piece {
    const whole: Piece = { first: new Map(), last: new Map(), empty: 0 }
    for (const piece of pieces) {
      join(whole.first, piece.first)
      join(whole.last, piece.last)
      whole.empty = Math.min(2, whole.empty + piece.empty)
    }
    return whole
  }

  const alternatives = (list: readonly AST.Alternative[]) => choice(list.map(({ elements }) => sequence(elements.map(piece))))

  function quantified({ element, min, max }: AST.Quantifier): Piece {
    const isLoop = max > REPEAT_MAX || (endless && max > COPIES_MAX)
    if (!isLoop) {
      const [least, most] = [Math.min(min, COPIES_MAX), Math.min(max, COPIES_MAX)]
      return sequence(
        Array.from({ length: most }, (_, index) => {
          const copy = piece(element)
          return index < least ? copy : { ...copy, empty: Math.min(2, copy.empty + 1) }
        }),
      )
    }
    const body = piece(element)
    link(body.last, body.first)
    // The engine ends a loop over an empty match at once, but has tried the empty match once.
    return { ...body, empty: min === 0 ? 1 : Math.min(1, body.empty) }
  }

  function lookaround({ alternatives: list }: AST.LookaroundAssertion): Piece {
    const inside = alternatives(list)
    // It ends in a state without successors, so the whole expression does not end here.
    const sink = addState(dead)
    link(inside.last, new Map([[sink, 1]]))
    return { first: new Map([...inside.first, [sink, 1]]), last: new Map(), empty: 1 }
  }

  function piece(node: AST.Element): Piece {
    switch (node.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass':
        return character(node.raw)
      case 'Quantifier':
        return quantified(node)
      case 'Group':
      case 'CapturingGroup':
        return alternatives(node.alternatives)
      case 'Assertion':
        return node.kind === 'lookahead' || node.kind === 'lookbehind' ? lookaround(node) : nothing()
      case 'Backreference':
        return nothing()
    }
  }

  const anything = addState(new Set(samples.keys()))
  const body = alternatives(pattern.alternatives)
  const isAnchored =
    flags.sticky ||
    pattern.alternatives.every(({ elements: [first] }) => first?.type === 'Assertion' && first.kind === 'start' && !flags.multiline)
  automaton.next[anything] = isAnchored ? new Map() : new Map([[anything, 1]])
  join(automaton.next[anything] as Map<number, number>, body.first)
  const canFail = pattern.alternatives.some(({ elements }) => canFailAtEnd(elements))
  automaton.ends = automaton.next.map((_, state) => !canFail && body.last.has(state))
  return automaton
}

/** Whether an alternative may fail after its last character: when it ends with an assertion or a backreference. */
function canFailAtEnd(elements: readonly AST.Element[]): boolean {
  const last = elements.at(-1)
  if (last === undefined) return false
  if (last.type === 'Assertion') return last.kind !== 'start'
  if (last.type === 'Backreference') return true
  if (last.type === 'Group' || last.type === 'CapturingGroup') return last.alternatives.some((one) => canFailAtEnd(one.elements))
  // An optional element may be absent, so the one before it may be last.
  if (last.type === 'Quantifier' && last.min === 0) return canFailAtEnd(elements.slice(0, -1)) || canFailAtEnd([last.element])
  return false
}

/** One character of each kind that the expression distinguishes. */
function samplesOf(raw: string): string[] {
  const variants = [...raw].flatMap((one) => [
    one,
    String.fromCodePoint((one.codePointAt(0) as number) + 1),
    one.toUpperCase(),
    one.toLowerCase(),
  ])
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  return [...new Set([...ascii, ...variants.flatMap((one) => [...one]), '\u00a0', 'é', '\u0301', '中', '\u2028', '🙂'])]
}

/** Numbers of the strongly connected components, -1 for states in no loop. */
function loopsOf({ next }: Automaton): number[] {
  const reach = next.map((_, from) => reachable([from], (state) => next[state]?.keys() ?? []))
  const loops = next.map(() => -1)
  for (const [from, states] of reach.entries()) {
    if (loops[from] !== -1 || !states.has(from)) continue
    for (const state of states) if (reach[state]?.has(from)) loops[state] = from
  }
  return loops
}

/** Everything that is reachable in at least one step. */
function reachable<T>(from: Iterable<T>, next: (state: T) => Iterable<T>): Set<T> {
  const seen = new Set<T>()
  const waiting = [...from]
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    for (const one of next(state)) {
      if (seen.has(one)) continue
      seen.add(one)
      waiting.push(one)
    }
  }
  return seen
}

const fits = (...sets: (ReadonlySet<number> | undefined)[]): boolean => {
  const [first, ...others] = sets
  for (const sample of first ?? []) if (others.every((set) => set?.has(sample))) return true
  return false
}

function hasExponential(automaton: Automaton): boolean {
  const { accepts, next, ends } = automaton
  const loops = loopsOf(automaton)
  const size = next.length
  // After an end nothing can fail, so the engine does not backtrack.
  const inLoop = (from: number) =>
    [...(next[from]?.entries() ?? [])].filter(([to]) => loops[to] === loops[from] && loops[from] !== -1 && !ends[to])
  for (let state = 0; state < size; state++) {
    if (loops[state] === -1 || ends[state]) continue
    if (inLoop(state).some(([to, ways]) => ways > 1 && fits(accepts[to]))) return true
    // Pairs of states that one text leads to from here, and the predecessors of each pair.
    const before = new Map<number, number[]>()
    const start = state * size + state
    reachable([start], (pair) => {
      const [one, other] = [inLoop(Math.floor(pair / size)), inLoop(pair % size)]
      const reached = one.flatMap(([a]) => other.flatMap(([b]) => (fits(accepts[a], accepts[b]) ? [a * size + b] : [])))
      for (const to of reached) before.set(to, [...(before.get(to) ?? []), pair])
      return reached
    })
    // If a pair of two different states is on a path from this state back to it, two paths read the same text.
    const returning = reachable([start], (pair) => before.get(pair) ?? [])
    if ([...returning].some((pair) => Math.floor(pair / size) !== pair % size)) return true
  }
  return false
}

function hasPolynomial(automaton: Automaton): boolean {
  const { accepts, next, ends } = automaton
  const loops = loopsOf(automaton)
  const size = next.length
  const after = (state: number) => [...(next[state]?.keys() ?? [])]
  for (let first = 0; first < size; first++) {
    if (loops[first] === -1) continue
    const behind = reachable([first], after)
    for (const second of behind) {
      if (loops[second] === -1 || loops[second] === loops[first] || ends[second]) continue
      const steps = reachable([key(first, first, second)], function* (at) {
        const [one, way, two] = states(at)
        for (const a of after(one))
          if (loops[a] === loops[first])
            for (const c of after(two))
              if (loops[c] === loops[second])
                for (const b of after(way))
                  if ((behind.has(b) || b === first) && fits(accepts[a], accepts[b], accepts[c])) yield key(a, b, c)
      })
      if (steps.has(key(first, second, second))) return true
    }
  }
  return false

  function key(one: number, way: number, two: number): number {
    return (one * size + way) * size + two
  }
  function states(at: number): [number, number, number] {
    return [Math.floor(at / size / size), Math.floor(at / size) % size, at % size]
  }
}
