import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { actAs, actingAs } from './api.ts'
import { forgetDrafts } from './drafts.ts'
import { goOn, isSessionOver, setSignedIn } from './session-end.ts'

/** A message between the tabs of a browser: who has signed in, or that somebody has signed out. */
type TabMessage = { readonly user: string } | 'out'

const NAME = 'takeback session'
const ME = ['me']

/** One channel sends and receives: a second one would receive this tab's own messages. */
const channel = new BroadcastChannel(NAME)

export function notifyOtherTabs(message: TabMessage): void {
  channel.postMessage(message)
}

/** Follows other tabs: they all share one session, so a sign-in or sign-out in one shows in all. */
export function useOtherTabs(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const forget = () => queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
    const signedOut = () => {
      setSignedIn(false)
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
      // A different user must not see the drafts of the first one.
      forgetDrafts()
      actAs(undefined)
    }
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) =>
      data === 'out' ? signedOut() : signedIn(data.user)
    return () => {
      channel.onmessage = null
    }
  }, [queries])
}
