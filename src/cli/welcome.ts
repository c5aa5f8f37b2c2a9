import type { Running } from '../app.ts'
import type { Config } from '../config.ts'
export async function welcome(running: Running, _config: Config): Promise<void> {
  console.log(`Takeback is ready at ${running.url}`)
}
