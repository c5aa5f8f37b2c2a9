import type { BunRequest } from './http-call.ts'
import type { Route } from './route.ts'
import { targetOf } from './target.ts'

/** Finds the route of a request that did not pass Bun's router, and sets `params` as that router would. */
export function matcherOf(routes: readonly Route[]): (request: BunRequest) => Route | undefined {
  // A word wins over a parameter: `/api/rooms/summary` is no id. Patterns that match anything come last.
  const patterns = routes
    .map((route) => ({ route, parts: route.path.split('/') }))
    .sort((one, other) => looseness(one.parts) - looseness(other.parts))
  const open = patterns.filter(({ parts }) => parts.at(-1) === '*')
  const byLength = Map.groupBy(
    patterns.filter((one) => !open.includes(one)),
    ({ parts }) => parts.length,
  )
  return (request) => {
    const { path } = targetOf(request.url)
    const sent = path.replace(/(.)\/$/, '$1').split('/')
    const found =
      byLength.get(sent.length)?.find(({ parts }) => fitsPattern(parts, sent)) ??
      open.find(({ parts }) => fitsPattern(parts.slice(0, -1), sent.slice(0, parts.length - 1)))
    if (found !== undefined) Object.defineProperty(request, 'params', { value: readParts(found.parts, sent) })
    return found?.route
  }
}

/** Counts the parameters of a path: the fewer, the better the match. */
function looseness(parts: readonly string[]): number {
  return parts.filter((part) => part.startsWith(':')).length
}

function fitsPattern(pattern: readonly string[], sent: readonly string[]): boolean {
  return (
    pattern.length === sent.length &&
    pattern.every((part, at) => part === sent[at] || (part.startsWith(':') && sent[at] !== ''))
  )
}

function readParts(pattern: readonly string[], parts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pattern.flatMap((part, at) => (part.startsWith(':') ? [[part.slice(1), decoded(parts[at] ?? '')]] : [])),
  )
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
