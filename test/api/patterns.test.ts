import { beforeAll, expect, test } from 'bun:test'
import { entity, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

/** All features of patterns that engines might read differently. */
const patterns = [
  '^[A-Z]{2}[0-9]+$',
  '(?i)straße',
  '(?i)^k$',
  '^[[:alpha:]]+$',
  '^[[:^digit:]]$',
  '(?s)a.b',
  'a.b',
  '\\Aab\\z',
  '(?P<year>[0-9]{4})-(?<month>[0-9]{2})',
  '^\\p{L}+$',
  '^\\P{Lu}$',
  '\\p{Greek}',
  '\\Qa.b\\E',
  'a{,2}',
  '(?i:x)y',
  '^\\s$',
]
const texts = [
  ...['AB12', 'ab', 'a.b', 'axb', 'a\nb', 'k', 'K', '\u212a', 'STRASSE', 'STRAßE', 'straẞe', 'é', 'É', 'σ'],
  ...['2026-01', '7', 'XY', 'Xy', 'xY', '\u00a0', '\t', '\v', '\n', 'a{,2}', 'x', '-', '1', '日本', ''],
]

const declared = withAdmins({
  words: entity({ fields: { word: text({ optional: true }) } }),
  ...Object.fromEntries(
    patterns.map((pattern, at) => [`p${at}`, entity({ fields: { word: text({ pattern }) } })]),
  ),
})

onEveryStore('patterns', declared, (server) => {
  beforeAll(async () => {
    await server.expect(
      201,
      'POST',
      '/api/words/',
      texts.map((word) => ({ word })),
    )
  })

  test.each(patterns.map((pattern, at) => [pattern, at] as const))(
    '%j lets in as a declaration what it finds as a filter',
    async (pattern, at) => {
      const filter = encodeURIComponent(`word.matches(${JSON.stringify(pattern)})`)
      const { data } = await server.expect(200, 'GET', `/api/words/?limit=200&filter=${filter}`)
      const admitted: string[] = []
      for (const word of texts) {
        const { status } = await server.call('POST', `/api/p${at}/`, { body: { word } })
        expect([201, 422]).toContain(status)
        if (status === 201) admitted.push(word)
      }
      expect(data.map(({ word }: { word: string }) => word)).toEqual(admitted)
      expect(admitted.length).toBeGreaterThan(0)
      expect(admitted.length).toBeLessThan(texts.length)
    },
  )
})
