import { describe, expect, test } from 'bun:test'
import { app, entity, list, ref, text } from '../takeback.ts'
import { resolve } from './resolve.ts'

/** Declares projects with this rule. Tasks refer to them with an `as` name, notes without one. */
function declare(access: Record<string, string>): () => unknown {
  return () =>
    resolve(
      app({
        entities: {
          users: entity({ login: { userType: 'user' }, fields: {} }),
          projects: entity({ fields: { title: text() }, access }),
          tasks: entity({
            fields: {
              title: text(),
              tags: list(text()),
              project: ref('projects', { as: 'todos' }),
              user: ref('users', { as: 'todos' }),
              up: ref('tasks', { as: 'parts', optional: true }),
            },
          }),
          notes: entity({ fields: { about: ref('projects') } }),
        },
      }),
    )
}

describe('a rule over referrers', () => {
  test.each([
    ['tasks.exists(t, true)', 'unknown field "tasks" at column 1; did you mean "todos"?'],
    ['todo.exists(t, true)', 'unknown field "todo" at column 1; did you mean "todos"?'],
    [
      'notes.exists(n, true)',
      `unknown field "notes" at column 1; give the reference a name for it: ref('projects', { as: 'notes' }) in entities.notes.fields.about`,
    ],
    ['me.tasks.exists(t, true)', 'unknown field "me.tasks" at column 4; did you mean "me.todos"?'],
    ['todos.exists(t, t.up.up.up.title == "a")', 'follows more than 3 references'],
  ])('%s is refused with a hint', (rule, sentence) => {
    expect(declare({ read: rule })).toThrow(sentence)
  })

  test('is about an Entity that is there', () => {
    const sentence =
      'unknown field "todos" at column 1; "todos" is only known for an Entity before the change'
    expect(declare({ create: 'todos.exists(t, true)' })).toThrow(sentence)
    expect(declare({ update: 'next.todos.exists(t, true)' })).toThrow(
      'is only known for an Entity before the change',
    )
    expect(declare({ update: 'todos.exists(t, t.title == next.title)' })).not.toThrow()
  })

  test.each([
    'todos.exists(t, t.parts.exists(p, p.parts.exists(q, q.title == "a")))',
    'todos.exists(t, "a" in t.tags)',
    'todos.all(t, size(t.parts) < 3) && size(todos) < 100',
    'me.todos.exists(t, t.project.id == id)',
  ])('%s does not cost too much', (rule) => {
    expect(declare({ read: rule })).not.toThrow()
  })

  test('that goes through too much is refused', () => {
    const rule = 'todos.exists(t, t.parts.exists(p, "a" in p.tags))'
    expect(declare({ read: rule })).toThrow('can go through')
  })
})
