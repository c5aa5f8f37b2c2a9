/** How many rows there are to take turns by, where transactions run side by side: for logins, and for graphs of types. */
const LOGINS = 64
const GRAPHS = 64
export const SLOTS = LOGINS + GRAPHS

/** Which of them stands for a key, on every instance. */
export function slotOf(key: string): number {
  return Number(Bun.hash(key) % BigInt(LOGINS))
}

export function graphSlotOf(key: string): number {
  return LOGINS + Number(Bun.hash(key) % BigInt(GRAPHS))
}
