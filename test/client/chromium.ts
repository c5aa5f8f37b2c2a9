import type { Page } from 'playwright-core'
import { openChromium } from '../process/chromium.ts'

/** Opens a page with a script, on an origin of its own, and closes the browser afterwards. */
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
  const browser = await openChromium()
  try {
    const page = await browser.newPage()
    await page.goto(server.url.href, { waitUntil: 'load' })
    return await run(page)
  } finally {
    await browser.close()
    await server.stop(true)
  }
}
