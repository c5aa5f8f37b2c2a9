import type { AnyAnswer } from '../../api/context.ts'
import { Failure } from '../../errors.ts'
import { type Asset, loadAssets } from './console-assets.ts'
import type { HttpCall } from './http-call.ts'
import type { Handler, Route } from './route.ts'

/** Allows nothing from elsewhere, no inline scripts or styles, and no framing. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** The routes of the web console: one page for all of its addresses, and its files. */
export function consoleRoutes(): Route[] {
  return [
    { path: '/console', methods: { GET: handler(showPage) } },
    { path: '/console/*', methods: { GET: handler(showPage) } },
    { path: '/console/-/:name', methods: { GET: handler(showAsset) } },
  ]
}

function handler(run: Handler['run']): Handler {
  return { body: undefined, produces: ['*/*'], takes: [], page: true, run }
}

async function showPage(call: HttpCall): Promise<AnyAnswer> {
  const { 'index.html': page } = await loadAssets()
  if (page === undefined) throw new Failure('not_found')
  return answer(call, page, { 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' })
}

async function showAsset(call: HttpCall): Promise<AnyAnswer> {
  const assets = await loadAssets()
  const { name = '' } = call.params
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
  if (asset === undefined) throw new Failure('not_found')
  return answer(call, asset, { 'Cache-Control': name === 'icon.svg' ? 'no-cache' : IMMUTABLE })
}

function answer(call: HttpCall, asset: Asset, headers: Record<string, string>): AnyAnswer {
  const { type, etag: ETag } = asset
  const accepted = call.headers.get('accept-encoding') ?? ''
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined
  const bytes = Buffer.from(encoding === 'br' ? asset.brotli : asset.gzip, 'base64')
  const shared = { status: 200, type, headers: { ...headers, ETag, Vary: 'Accept-Encoding' } }
  if (encoding === undefined) return { ...shared, body: Bun.gunzipSync(bytes) }
  return { ...shared, body: bytes, headers: { ...shared.headers, 'Content-Encoding': encoding } }
}
