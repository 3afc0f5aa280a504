/** Prints whether a figure meets its bar. If one does not, the benchmark exits with 1 after all other measurements. */
export function verdict(what: string, value: number, bar: { atMost: number } | { atLeast: number }): void {
  const [words, met] = 'atMost' in bar ? [`at most ${bar.atMost}`, value <= bar.atMost] : [`at least ${bar.atLeast}`, value >= bar.atLeast]
  if (!met) process.exitCode = 1
  console.log(`${what}: ${Number(value.toFixed(3))} (${words}: ${met ? 'met' : 'NOT met'})`)
}
