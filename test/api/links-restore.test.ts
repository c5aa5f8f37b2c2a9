import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { entity, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, runs } from '../harness.ts'

const MAX = 4
const TAGS = 8
const RUNS = Math.min(runs(40), 400)

const declaration = withAdmins({
  shelves: entity({ fields: { name: text({ default: '' }) } }),
  tags: entity({ fields: { shelf: ref('shelves', { onDelete: 'cascade', optional: true }) } }),
  posts: entity({ fields: { tags: list(ref('tags', { onDelete: 'clear' }), { max: MAX, default: [] }) } }),
})

const refs = (ids: readonly number[]) => ids.map((id) => ({ id }))
const idsOf = (members: readonly { id: number }[]) => members.map(({ id }) => id)

/**
 * The tags of a list at first, those that are deleted, and those that somebody adds then. Most of the list is deleted,
 * so that restored tags meet those that took their places.
 */
const story = fc
  .uniqueArray(fc.nat(TAGS - 1), { minLength: 1, maxLength: MAX })
  .chain((first) =>
    fc.record({
      first: fc.constant(first),
      gone: fc.shuffledSubarray(first, { minLength: Math.ceil(first.length / 2) }),
    }),
  )
  .chain(({ first, gone }) => {
    const staying = Array.from({ length: TAGS }, (_, at) => at).filter((at) => !gone.includes(at))
    const later = fc.option(fc.shuffledSubarray(staying, { maxLength: MAX }), { freq: 4 })
    return fc.record({ first: fc.constant(first), gone: fc.constant(gone), later })
  })

onEveryStore('a restore that puts back into lists', declaration, (server) => {
  test('never makes one longer than it may be, and takes nothing out', async () => {
    const property = fc.asyncProperty(story, async ({ first, gone, later }) => {
      const shelf = await server.expect(201, 'POST', '/api/shelves/', {})
      const tags = await server.expect(
        201,
        'POST',
        '/api/tags/',
        Array.from({ length: TAGS }, (_, at) => (gone.includes(at) ? { shelf: { id: shelf.id } } : {})),
      )
      const ids = idsOf(tags.data)
      const pick = (chosen: readonly number[]) => chosen.map((at) => ids[at] ?? 0)
      const post = await server.expect(201, 'POST', '/api/posts/', { tags: refs(pick(first)) })
      await server.expect(200, 'DELETE', `/api/shelves/${shelf.id}/`)
      const cleared = pick(first.filter((at) => gone.includes(at)))
      const left = pick(first.filter((at) => !gone.includes(at)))
      const path = `/api/posts/${post.id}/`
      expect(idsOf((await server.expect(200, 'GET', path)).tags)).toEqual(left)
      // Somebody uses the places that became free.
      const kept = later === null ? left : pick(later)
      if (later !== null) await server.expect(200, 'PATCH', path, { tags: refs(kept) })
      const { version } = await server.expect(200, 'GET', path)
      await server.expect(200, 'DELETE', `/api/shelves/${shelf.id}/?restore=1`)
      const restored = await server.expect(200, 'GET', path)
      const now = idsOf(restored.tags)
      // If there is no free place, nothing is written.
      expect(restored.version).toBe(now.length > kept.length ? version + 1 : version)
      expect(now.length).toBe(Math.min(MAX, kept.length + cleared.length))
      expect(now.filter((id) => kept.includes(id))).toEqual(kept)
      expect(now.every((id) => kept.includes(id) || cleared.includes(id))).toBe(true)
      if (later === null) expect(now).toEqual(pick(first))
      // The list is valid: it can be sent back as it is.
      await server.expect(200, 'PATCH', path, { tags: refs(now) })
    })
    await fc.assert(property, { numRuns: RUNS })
  }, 600_000)
})
