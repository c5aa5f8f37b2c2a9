import type { BunRequest } from './incoming.ts'
import type { Route } from './route.ts'
import { targetOf } from './target.ts'

/** The route of a request that Bun's router has not seen, with its parameters put to it as that would have. */
export function matchRoute(routes: readonly Route[], request: BunRequest): Route | undefined {
  const { path } = targetOf(request.url)
  const parts = pathParts(path.replace(/(.)\/$/, '$1'))
  let found: Route | undefined
  for (const route of routes) {
    if (!fitsPattern(pathParts(route.path), parts)) continue
    // A word wins over a parameter: `/api/rooms/summary` is no id.
    if (found === undefined || countParameters(route.path) < countParameters(found.path)) found = route
  }
  if (found !== undefined)
    Object.defineProperty(request, 'params', { value: readParts(pathParts(found.path), parts) })
  return found
}

function pathParts(path: string): string[] {
  return path.split('/')
}

function countParameters(path: string): number {
  return pathParts(path).filter((part) => part.startsWith(':')).length + (path.endsWith('*') ? 100 : 0)
}

function fitsPattern(pattern: readonly string[], parts: readonly string[]): boolean {
  if (pattern.at(-1) === '*') return fitsPattern(pattern.slice(0, -1), parts.slice(0, pattern.length - 1))
  return (
    pattern.length === parts.length &&
    pattern.every((part, at) => part === parts[at] || (part.startsWith(':') && parts[at] !== ''))
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
