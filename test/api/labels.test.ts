import { describe, expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { documentOf } from '../../src/openapi/document.ts'
import { pageOf } from '../../src/openapi/page.ts'
import { tablesOf } from '../../src/plan/tables/schema.ts'
import { app, entity, integer, list, object, ref, text } from '../../src/takeback.ts'

const words = (one: string) => ({ label: `${one} label`, description: `${one} <meaning>.` })

const declared = (said: (one: string) => object) =>
  app({
    entities: {
      hosts: entity({ fields: { name: text() } }),
      houses: entity({
        ...said('house'),
        fields: {
          name: text({ ...said('name') }),
          rooms: integer({ ...said('rooms'), optional: true }),
          host: ref('hosts', { ...said('host') }),
          guests: list(ref('hosts'), { ...said('guests') }),
          place: object({ city: text({ ...said('city') }) }, { ...said('place'), optional: true }),
        },
      }),
    },
  })

const paths = ['name', 'rooms', 'host', 'guests', 'place', 'city']

describe('words for people', () => {
  const model = resolve(declared(words))

  test('are in the OpenAPI document, before what the schema says by itself', () => {
    const { schemas } = (documentOf(model) as any).components
    expect([schemas.houses.title, schemas.houses.description]).toEqual([
      'house label',
      'house <meaning>. A house, as the API returns it.',
    ])
    for (const kind of ['houses', 'houses_create', 'houses_patch']) {
      const text = JSON.stringify(schemas[kind])
      for (const one of paths)
        expect([kind, one, text.includes(`"title":"${one} label"`)]).toEqual([kind, one, true])
    }
    expect(schemas.houses_create.properties.host.description).toBe('host <meaning>. Refers to a host.')
  })

  test('are on the page, as text', () => {
    const page = pageOf(model, 'http://localhost')
    for (const one of ['house', ...paths]) {
      expect(page).toContain(`<strong>${one} label</strong>`)
      expect(page).toContain(`${one} &lt;meaning&gt;.`)
    }
  })

  test('change no table, so nothing is migrated', () => {
    const plain = resolve(declared(() => ({})))
    expect(JSON.stringify(tablesOf(model))).toBe(JSON.stringify(tablesOf(plain)))
  })
})

describe('the title of a type', () => {
  const titled = (title: string) =>
    resolve(
      app({
        entities: {
          houses: {
            title,
            fields: { name: text(), size: integer(), place: object({ city: text() }) },
          },
        },
      }),
    )

  test('is a text of the type, in the document too', () => {
    for (const title of ['name', 'place.city']) {
      const model = titled(title)
      expect(model.entities.get('houses')?.title).toBe(title)
      expect((documentOf(model) as any).components.schemas.houses['x-title']).toBe(title)
    }
  })

  test('is refused where it is none', () => {
    expect(() => titled('nam')).toThrow(
      'entities.houses.title: must be the dot path of a text of this type; did you mean "name"?',
    )
    for (const title of ['size', 'place', 'nothing'])
      expect(() => titled(title)).toThrow('entities.houses.title: must be the dot path of a text')
  })
})

test('labels that are none are refused, each at its place', () => {
  const wrong = {
    entities: {
      houses: entity({
        label: '',
        description: 'x'.repeat(2001),
        fields: { name: text({ label: 5 as never }), place: object({ city: text() }, { description: ' ' }) },
      }),
    },
  }
  for (const place of [
    'houses.label',
    'houses.description',
    'houses.fields.name.label',
    'houses.fields.place.description',
  ])
    expect(() => resolve(app(wrong))).toThrow(`entities.${place}: must be a text of 1 to `)
})
