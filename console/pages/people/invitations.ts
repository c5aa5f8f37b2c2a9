import { useQuery } from '@tanstack/react-query'
import type { OpenInvitation } from '../../../client/system.ts'
import { get, type Page } from '../../api.ts'

const MOST = 200
/** Invited users may set their passwords at any time. */
const AGAIN_MS = 5000

/** Open invitations, by user. Only admins see them. */
export function useInvitations(): ReadonlyMap<string, OpenInvitation> {
  const { data } = useQuery({
    queryKey: ['auth', 'invitations'],
    queryFn: ({ signal }) => get<Page<OpenInvitation>>('auth/invitations/', { limit: MOST }, signal),
    // Does not ask again after a refusal.
    refetchInterval: ({ state }) => (state.error === null ? AGAIN_MS : false),
    retry: false,
  })
  return new Map(data?.data.map((one) => [one.user, one]))
}
