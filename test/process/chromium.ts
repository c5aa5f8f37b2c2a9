import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

let browser: Promise<Browser> | undefined

/** One browser for all test files of a process. It ends with the process, as the pipe between them does. */
export function theBrowser(): Promise<Browser> {
  browser ??= openChromium()
  return browser
}

/** A real browser. The package's own options are for functions in the cloud. */
export async function openChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}
