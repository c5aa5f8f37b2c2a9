import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Glob } from 'bun'
import { codes, sentence } from '../../console/texts/de-errors.ts'
import { catalogue } from '../../src/errors.ts'

/** Statuses of mistakes that programs make, not people. */
const NOT_BY_PEOPLE = [400, 405, 406, 410, 415]

/** Returns the sentences of all checks, with a number in place of each expression. */
function sentencesOfChecks(): string[] {
  const files = ['src/declare/fields/*.ts', 'src/declare/{values,field-types}.ts'].flatMap((path) => [
    ...new Glob(path).scanSync('.'),
  ])
  return files.flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(/add\w*Error\(\w+, [^'`\n]*(['`])((?:is|must|refers) .*?)\1\)/g),
    ].map(([, , found = '']) =>
      found.replace(/\$\{countOf\w+\(.*?\)\}/g, '2 characters').replace(/\$\{.*?\}/g, '2'),
    ),
  )
}

test('what the API says to people, the console says in German', () => {
  const sentences = sentencesOfChecks()
  expect(sentences.length).toBeGreaterThan(20)
  expect(sentences.filter((one) => sentence(one) === one)).toEqual([])
  const untold = Object.entries(catalogue).flatMap(([code, { status }]) =>
    NOT_BY_PEOPLE.includes(status) || code in codes ? [] : [code],
  )
  // The form for the second factor opens instead.
  expect(untold).toEqual(['second_factor_required'])
  expect(sentence('must have at least 3 characters')).toBe('muss mindestens 3 Zeichen haben')
  expect(sentence('is sold out')).toBe('is sold out')
})
