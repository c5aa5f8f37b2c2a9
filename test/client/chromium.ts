import type { Page } from 'playwright-core'
import { theBrowser } from '../process/chromium.ts'

/** Opens a page with a script, on its own origin, and closes it afterwards. */
export async function inChromium<T>(script: string, run: (page: Page) => Promise<T>): Promise<T> {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    routes: {
      '/': new Response('<!doctype html><script type="module" src="/script.js"></script>', {
        headers: { 'Content-Type': 'text/html' },
      }),
      '/script.js': new Response(script, { headers: { 'Content-Type': 'text/javascript' } }),
    },
  })
  const page = await (await theBrowser()).newPage()
  try {
    await page.goto(server.url.href, { waitUntil: 'load' })
    return await run(page)
  } finally {
    await page.close()
    await server.stop(true)
  }
}
