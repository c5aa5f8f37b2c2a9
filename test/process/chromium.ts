import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

let browser: Promise<Browser> | undefined

/** Returns one browser for all test files of a process. It ends with the process, because their pipe closes. */
export function theBrowser(): Promise<Browser> {
  browser ??= openChromium()
  return browser
}

/** Opens a real browser. The package's own options are for cloud functions. */
export async function openChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}
