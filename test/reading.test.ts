import { expect, test } from 'bun:test'
import { functionsIn, parseSources, topNames } from './syntax.ts'

/** The most lines that a reader can see at once. */
const LINES_MAX = 40
/** More arguments than this are passed by name, in an object. */
const PARAMETERS_MAX = 4

const sources = await parseSources()
const functions = [...sources].flatMap(([path, source]) => functionsIn(path, source))

test('functions stay within what a reader can hold', () => {
  expect(functions.length).toBeGreaterThan(1000)
  const long = functions.filter(({ lines }) => lines > LINES_MAX).map(({ name }) => name)
  expect(long.filter((name) => !stillLong.includes(name))).toEqual([])
})

test('no function has too many positional parameters', () => {
  const many = functions.filter(({ parameters }) => parameters > PARAMETERS_MAX).map(({ name }) => name)
  expect(many.filter((name) => !stillPositional.includes(name))).toEqual([])
})

test('results of statements are read by name, not by position', () => {
  const byPlace = [...sources].flatMap(([path, { text }]) =>
    [...text.matchAll(/\b(row|last|found)\??\.?\[[1-9]\]/g)].map(([place]) => `${path}: ${place}`),
  )
  expect(byPlace).toEqual([])
})

/** Each database has its own version of these: a reader who knows one knows the other. */
const isOfADatabase = (path: string) => /^store\/(sqlite|postgres)\//.test(path)

test('a name stands for one thing: what one file exports, no other has under the same name', () => {
  const places = new Map<string, { path: string; isExported: boolean }[]>()
  for (const [path, source] of sources) {
    const { all, exported } = topNames(source)
    for (const name of all) {
      const known = places.get(name) ?? []
      places.set(name, [...known, { path, isExported: exported.has(name) }])
    }
  }
  const twice = [...places].filter(
    ([, found]) =>
      found.length > 1 &&
      found.some(({ isExported }) => isExported) &&
      !found.every(({ path }) => isOfADatabase(path)),
  )
  expect(twice.map(([name, found]) => `${name}: ${found.map(({ path }) => path).join(', ')}`)).toEqual([])
})

/** These lists may only become shorter. */
const stillLong: readonly string[] = []
const stillPositional: readonly string[] = []
