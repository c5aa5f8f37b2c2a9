import { expect } from 'bun:test'
import { join } from 'node:path'
import { budget } from '../src/budget.ts'
import { giant } from './harness.ts'

const matches = join(import.meta.dir, '../src/store/sqlite/matches.ts')

/** Matches until it has used half a second of processor time, however long that takes. */
const WORK = `
  const { beginMatching, matches } = await import(${JSON.stringify(matches)})
  const { writeSync } = await import('node:fs')
  const text = 'ab'.repeat(3000)
  beginMatching()
  matches(text, 'a[ab]{100}[!?]')
  const since = process.threadCpuUsage()
  writeSync(1, 'at it')
  while (process.threadCpuUsage(since).user < 500_000) matches(text, 'a[ab]{100}[!?]')
  writeSync(1, ' done')
`

/** Matches forever. */
const TOO_MUCH = WORK.replace('process.threadCpuUsage(since).user < 500_000', 'true')

giant('time spent waiting for the processor does not count', async () => {
  const child = Bun.spawn([process.execPath, '-e', WORK], { stdout: 'pipe', stderr: 'pipe' })
  const reader = child.stdout.getReader()
  const begun = new TextDecoder().decode((await reader.read()).value)
  expect(begun).toStartWith('at it')
  await Bun.sleep(50)
  // Stopped meanwhile, as if others had the processor for longer than a statement may work.
  child.kill('SIGSTOP')
  await Bun.sleep(budget.patternMs + 500)
  child.kill('SIGCONT')
  const rest = new TextDecoder().decode((await reader.read()).value)
  expect([await child.exited, rest, await new Response(child.stderr).text()]).toEqual([0, ' done', ''])
})

giant('a process that matches for too long is ended', async () => {
  const child = Bun.spawn([process.execPath, '-e', TOO_MUCH], { stdout: 'pipe', stderr: 'pipe' })
  expect(await child.exited).not.toBe(0)
  expect(await new Response(child.stderr).text()).toContain('of the processor')
})
