// Builds console/dist/assets.js: every file of the web console, compressed, in one module that the server loads when
// somebody first opens the console. Does nothing if the console is up to date.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { messages } from '../console/texts/languages.ts'
import { digestOfSources, isUpToDate, markAsBuilt } from './up-to-date.js'

const root = join(import.meta.dir, '..')
const dist = join(root, 'console/dist')

if (!existsSync(join(root, 'node_modules/react'))) {
  // A server runs without its console, but a package must not be published without it.
  console.error(`The console cannot be built: run "npm install" in ${root}, without --omit=dev.`)
  process.exit(['pack', 'publish'].includes(process.env.npm_command ?? '') ? 1 : 0)
}

const sources = digestOfSources(root)
if (isUpToDate(dist, sources) && !process.argv.includes('--sizes')) process.exit(0)

const built = await Bun.build({
  entrypoints: [join(root, 'console/main.tsx')],
  target: 'browser',
  splitting: true,
  minify: true,
  publicPath: '/console/-/',
  naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  define: { 'process.env.NODE_ENV': '"production"' },
})
const names = built.outputs.map(({ path }) => path.replace(/^\.?\//, ''))
const entry = built.outputs.findIndex(({ kind }) => kind === 'entry-point')
const styles = names.filter((name) => name.endsWith('.css'))
const first = await neededBy(entry)

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0d7a6f"/><path d="M9 13h9.5a5.5 5.5 0 0 1 0 11H13" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/><path d="m13.500 8-5 5 5 5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>`

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Takeback</title>
<link rel="icon" href="/console/-/icon.svg" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="/console/-/${name}">`).join('\n')}
${first.map((name) => `<link rel="modulepreload" href="/console/-/${name}">`).join('\n')}
<script type="module" src="/console/-/${names[entry]}"></script>
</head>
<body>
<div id="root"></div>
<noscript>${messages.en.needsScript}</noscript>
</body>
</html>
`

/** Returns all files that a file imports statically, directly or not: browsers load them together. */
async function neededBy(output: number): Promise<string[]> {
  const needed = new Set<string>()
  const look = async (at: number) => {
    const text = await built.outputs[at]?.text()
    for (const [, name = ''] of text?.matchAll(/(?:from|import)\s*"\/console\/assets\/([^"]+\.js)"/g) ?? []) {
      if (needed.has(name)) continue
      needed.add(name)
      await look(names.indexOf(name))
    }
  }
  await look(output)
  return [...needed]
}

interface Asset {
  readonly type: string
  readonly etag: string
  readonly gzip: string
  readonly brotli: string
}

function assetOf(type: string, content: Uint8Array | string): Asset {
  const bytes = Buffer.from(content)
  return {
    type,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    gzip: gzipSync(bytes, { level: 9 }).toString('base64'),
    brotli: brotliCompressSync(bytes).toString('base64'),
  }
}

const TYPES: Record<string, string> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }
const assets: Record<string, Asset> = {
  'index.html': assetOf('text/html; charset=utf-8', page),
  'icon.svg': assetOf('image/svg+xml', ICON),
}
for (const [at, output] of built.outputs.entries()) {
  const name = names[at] ?? ''
  const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
  assets[name] = assetOf(type, new Uint8Array(await output.arrayBuffer()))
}

mkdirSync(dist, { recursive: true })
const fresh = join(dist, `assets.${process.pid}.js`)
writeFileSync(fresh, `export const assets = ${JSON.stringify(assets)}\n`)
// A process that has opened the old file goes on reading that.
renameSync(fresh, join(dist, 'assets.js'))
markAsBuilt(dist, sources)
if (process.argv.includes('--sizes'))
  for (const [name, { gzip }] of Object.entries(assets))
    console.log(`${(Buffer.from(gzip, 'base64').length / 1024).toFixed(1).padStart(8)} KB  ${name}`)
