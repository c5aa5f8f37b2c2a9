import { get, type Page } from './api.ts'
import { type Model, useModel } from './model.ts'
import type { Operation } from './operations.ts'
import { type Me, useSignedIn } from './session.ts'

/** Returns who is signed in, as operations name them: `users/3`. */
export function actorOf(me: Me, { entities }: Model): string | undefined {
  const type = entities.find(({ login }) => login?.user_type === me.user_type)
  return type === undefined ? undefined : `${type.name}/${me.id}`
}

const LOOKED_AT = 20

/** Finds the newest operation of the user that is not taken back and is no undo itself. */
export function useLastChange(): () => Promise<Operation | undefined> {
  const me = useSignedIn()
  const model = useModel()
  return async () => {
    const actor = actorOf(me, model)
    const { data } = await get<Page<Operation>>('operations/', { actor, limit: LOOKED_AT })
    return data.find(({ undoes, undone_by }) => undoes === undefined && undone_by === undefined)
  }
}
