import { Register } from '#core/foundation/register.ts'

/** How many bytes may be in memory at the same time for one kind of work, in total and per user. */
interface ByteBudget {
  /** Reserves `bytes` and returns a function that releases them; null when they are not free. */
  take(owner: string, bytes: number): (() => void) | null
}

/** @param limits.perOwnerMax so that one user leaves room for others */
export function openByteBudget(limits: { bytesMax: number; perOwnerMax: number }): ByteBudget {
  const taken = new Register<number>()
  let total = 0
  return {
    take(owner, bytes) {
      const own = taken.get(owner) ?? 0
      if (total + bytes > limits.bytesMax || own + bytes > limits.perOwnerMax) return null
      total += bytes
      taken.set(owner, own + bytes)
      let isBack = false
      return () => {
        if (isBack) return
        isBack = true
        total -= bytes
        const left = (taken.get(owner) ?? bytes) - bytes
        if (left > 0) taken.set(owner, left)
        else taken.delete(owner)
      }
    },
  }
}
