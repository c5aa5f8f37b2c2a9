import type { AppDeclaration } from '../src/declare/define.ts'
import { entity, everyone, signedIn, text } from '../src/takeback.ts'

/** The names of the types. */
export interface Names {
  readonly admins: string
  readonly users: string
  readonly clients: string
  readonly orders: string
}
export const OLD: Names = { admins: 'admins', users: 'users', clients: 'clients', orders: 'orders' }
/** One name is the prefix of another: only whole names may be renamed. */
export const NEW: Names = {
  admins: 'chiefs',
  users: 'people',
  clients: 'clients_of_ours',
  orders: 'orders_placed',
}

/** Whether reactions fail, so that they wait; and the reactions that were done. */
export const reacting: { held: boolean; done: string[] } = { held: false, done: [] }

export function declaring(names: Names, was?: Names): AppDeclaration {
  const { admins, users, clients, orders } = names
  const formerly = (type: keyof Names) => (was === undefined ? {} : { was: was[type] })
  const reaction =
    (name: string) => (call: { kind: string; id: number; after: { title: string } | null }) => {
      if (reacting.held) throw new Error('held')
      reacting.done.push(`${name} ${call.kind} ${call.id} ${call.after?.title}`)
    }
  // The names are not known to TypeScript.
  return {
    admins,
    entities: {
      [admins]: entity({ ...formerly('admins'), login: { userType: 'admin' }, fields: {} }),
      [users]: entity({
        ...formerly('users'),
        login: { userType: 'user' },
        fields: {},
        access: { read: 'id == me.id', update: 'id == me.id' },
      }),
      [clients]: entity({
        ...formerly('clients'),
        login: { userType: 'client', verify: true },
        fields: {},
        access: { create: everyone },
      }),
      [orders]: entity({ ...formerly('orders'), fields: { title: text() } }),
      notes: entity({ fields: { title: text() }, access: { create: signedIn, read: signedIn } }),
    },
    reactions: {
      [`${orders}.create`]: reaction('create'),
      [`${orders}.*`]: reaction('any'),
      // After the others on the same Entities, and on another type that keeps its name.
      'notes.create': reaction('note'),
    },
  } as AppDeclaration
}
