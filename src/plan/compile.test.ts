import { expect, test } from 'bun:test'
import { resolve } from '../declare/resolve.ts'
import type { Dialect } from '../store/dialect.ts'
import { dialect } from '../store/sqlite/dialect.ts'
import { app, entity } from '../takeback.ts'
import { compilePlans } from './compile.ts'

const login = (userType: string) =>
  entity({ login: { userType }, fields: {}, access: { read: 'id == me.id', update: 'id == me.id' } })
const model = resolve(app({ admins: 'admins', entities: { admins: login('admin'), users: login('user') } }))

test('a view is compiled for the first who needs it, not at the start, and once for all who see the same', () => {
  let count = 0
  const counting: Dialect = {
    ...dialect,
    placeholder(...given) {
      count++
      return dialect.placeholder(...given)
    },
  }
  const plans = compilePlans(model, counting)
  const compiledFor = (id: number): number => {
    const before = count
    plans.get('users')?.view({ kind: 'user', entity: 'users', id, admin: false })
    return count - before
  }
  expect(compiledFor(1)).toBeGreaterThan(0)
  expect(compiledFor(2)).toBe(0)
})
