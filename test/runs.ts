/** `npm run test:fast`: on SQLite alone, without the giants. */
export const isFast = process.env.TAKEBACK_TEST_FAST === '1'

/** `npm run test:deep`: many random cases, the giants in their full size, every combination. */
export const isDeep = process.env.TAKEBACK_TEST_DEEP === '1'

/**
 * Returns how many random cases to try: an eighth of the usual number, in a fast run a twentieth, in a deep run ten
 * times as many. `TAKEBACK_TEST_RUNS` sets it for all tests.
 */
export function runs(usual: number): number {
  const share = isDeep ? 10 : isFast ? 1 / 20 : 1 / 8
  return Number(process.env.TAKEBACK_TEST_RUNS ?? Math.ceil(usual * share))
}
