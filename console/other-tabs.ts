import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { actAs, actingAs } from './api.ts'
import { forgetDrafts } from './drafts.ts'
import { goOn, isSessionOver, noteSignedIn } from './session-end.ts'

/** What the tabs of one browser tell each other: who has signed in, or that somebody has signed out. */
type Told = { readonly user: string } | 'out'

const NAME = 'takeback session'
const ME = ['me']

/** One for both directions: a second one would hear what this tab says. */
const channel = new BroadcastChannel(NAME)

export function tellOtherTabs(told: Told): void {
  channel.postMessage(told)
}

/** All tabs have one session: what one does about it, the others show. */
export function useOtherTabs(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const forget = () => queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
    const signedOut = () => {
      noteSignedIn(false)
      forgetDrafts()
      if (actingAs() !== undefined) return actAs(undefined)
      forget()
      queries.setQueryData(ME, null)
    }
    const signedIn = (user: string) => {
      const me = queries.getQueryData<{ id: number; user_type: string } | null>(ME)
      if (me === null || me === undefined) {
        forget()
        return void queries.invalidateQueries()
      }
      if (user === `${me.user_type} ${me.id}`) {
        if (isSessionOver()) goOn()
        return void queries.invalidateQueries()
      }
      // Somebody else must not see what the first one was doing.
      forgetDrafts()
      actAs(undefined)
    }
    channel.onmessage = ({ data }: MessageEvent<Told>) => (data === 'out' ? signedOut() : signedIn(data.user))
    return () => {
      channel.onmessage = null
    }
  }, [queries])
}
