/** How many rows there are to take turns by, where transactions run side by side. */
export const SLOTS = 64

/** Which of them stands for a key, on every instance. */
export function slotOf(key: string): number {
  return Number(Bun.hash(key) % BigInt(SLOTS))
}
