// takeback/testing in Bun: the app is in the process of the tests.
import { resolve } from '../src/declare/resolve.ts'
import { fileOf, testAppOf } from './app.ts'
import { loadTested, MemoryEngine } from './engine.ts'
import type { TestApp, TestAppStart } from './types.ts'

export type * from './types.ts'

export const testApp: TestAppStart = async <Config>(config: unknown): Promise<TestApp<Config>> => {
  const file = fileOf(config)
  const model = file === undefined ? resolve(config) : await loadTested(file)
  return testAppOf(await MemoryEngine.start(model))
}
