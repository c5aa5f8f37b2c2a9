import { describe, expect, test } from 'bun:test'
import { budget } from '../../budget.ts'
import { no, yes } from '../../declare/cel/expression.ts'
import { actions } from '../../declare/define.ts'
import { resolve } from '../../declare/resolve.ts'
import { app, entity, secret, text } from '../../takeback.ts'
import type { KeyActor, User } from './actor.ts'
import { type KeyRights, keyScope } from './key-scope.ts'
import { viewersOf } from './viewer.ts'

const model = resolve(
  app({
    admins: 'admins',
    entities: {
      admins: entity({ login: { userType: 'admin' }, fields: {} }),
      rooms: entity({ fields: { title: text(), pin: secret() } }),
      notes: entity({ fields: { title: text() } }),
    },
  }),
)
const admin: User = { kind: 'user', entity: 'admins', id: 1, admin: true }
const keyWith = (rights: KeyRights, agent = false): KeyActor => ({
  kind: 'key',
  id: 1,
  user: admin,
  scope: keyScope(model, rights, agent),
})
const typeOf = (name: string) => {
  const type = model.entities.get(name)
  if (type === undefined) throw new Error(`no ${name}`)
  return type
}

describe('the viewer of a key', () => {
  const viewers = viewersOf(model)
  const mayOf = (key: KeyActor, name: string) =>
    actions.filter((action) => viewers.of(key).may(typeOf(name), action) === yes)

  test('has the rights that both the rules and the key give', () => {
    expect(mayOf(keyWith({}), 'rooms')).toEqual([...actions])
    expect(mayOf(keyWith({ read_only: true }), 'rooms')).toEqual(['read', 'history'])
    const some = keyWith({ entities: { rooms: ['read', 'update'] } })
    expect([mayOf(some, 'rooms'), mayOf(some, 'notes')]).toEqual([['read', 'update'], []])
    expect(mayOf(keyWith({ entities: { rooms: ['update'] } }), 'rooms')).toEqual([])
    expect(mayOf(keyWith({}, true), 'rooms')).toEqual(actions.filter((one) => one !== 'purge'))
    expect(mayOf(keyWith({}, true), 'admins')).toEqual(['read', 'history'])
  })

  test('sets no secrets for an agent, and takes no account over for anybody', () => {
    const [plain, agent] = [viewers.of(keyWith({})), viewers.of(keyWith({}, true))]
    expect(plain.mayField(typeOf('rooms'), 'pin', 'change')).toBe(yes)
    expect(agent.mayField(typeOf('rooms'), 'pin', 'write')).toBe(no)
    expect(plain.mayField(typeOf('admins'), 'password', 'write')).toBe(yes)
    for (const path of ['password', 'email'])
      expect(plain.mayField(typeOf('admins'), path, 'change')).toBe(no)
  })

  test('gives no rights to a type that is gone', () => {
    const key = keyWith({ entities: { rooms: ['read'], gone: ['read'] } })
    expect([mayOf(key, 'rooms'), mayOf(key, 'notes')]).toEqual([['read'], []])
  })

  test('is shared by keys that may do the same; only so many are kept', () => {
    const one = () => keyWith({ entities: { rooms: ['update', 'read'] } })
    const first = viewers.of(one())
    expect(viewers.of(one())).toBe(first)
    expect(viewers.of(keyWith({ entities: { rooms: ['read', 'update'] } }))).toBe(first)
    const sets = Array.from({ length: budget.keyShapes }, (_, at) =>
      actions.filter((_one, bit) => (at + 1) & (1 << bit)),
    )
    for (const may of sets) viewers.of(keyWith({ entities: { notes: may } }))
    expect(viewers.of(one())).not.toBe(first)
  })
})
