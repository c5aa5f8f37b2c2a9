import { useInfiniteQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { Link } from 'wouter'
import type { OpenInvitation } from '../../../client/system.ts'
import { type EntityData, get, type Page as ListPage } from '../../api.ts'
import { type EntityType, labelOf, nameOf, useModel } from '../../model.ts'
import { useParameter } from '../../moment.ts'
import { Button } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, QueryState } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { paged } from '../../query-cache.ts'
import { useTexts } from '../../texts/index.ts'
import { useInvitations } from './invitations.ts'
import { Invite } from './invite.tsx'
import { Person } from './person.tsx'

/** All users, by type. */
export default function People() {
  const texts = useTexts()
  const { entities } = useModel()
  const types = entities.filter(({ login }) => login !== null)
  const [chosen, choose] = useParameter('type')
  const [isInviting, setInviting] = useState(false)
  const type = types.find(({ name }) => name === chosen) ?? types[0]
  if (type === undefined)
    return (
      <Page title={texts.nav.people}>
        <Empty icon="people" title={texts.people.noTypes} />
      </Page>
    )
  return (
    <Page
      title={texts.nav.people}
      actions={
        type.may.create !== false && (
          <Button icon="plus" tone="main" onClick={() => setInviting(true)}>
            {texts.people.invite}
          </Button>
        )
      }
      bar={
        <div className="tabs">
          {types.map((one) => (
            <button key={one.name} type="button" aria-pressed={one === type} onClick={() => choose(one.name)}>
              {labelOf(one)}
            </button>
          ))}
        </div>
      }
    >
      <Accounts key={type.name} type={type} />
      {isInviting && <Invite type={type} onClose={() => setInviting(false)} />}
    </Page>
  )
}

function Accounts({ type }: { readonly type: EntityType }) {
  const texts = useTexts()
  const [text, setText] = useState('')
  const [open, setOpen] = useState<EntityData>()
  const asked = useDeferredValue(text.trim())
  const filter = asked === '' ? undefined : `email.startsWith(${JSON.stringify(asked)})`
  const query = useInfiniteQuery({
    queryKey: ['list', type.name, 'people', filter],
    ...paged((cursor) =>
      get<ListPage<EntityData>>(`${type.name}/`, { limit: 50, sort: '-id', filter, cursor }),
    ),
    placeholderData: (before) => before,
  })
  const { data, fetchNextPage, hasNextPage } = query
  const invitations = useInvitations()
  const all = data?.pages.flatMap((page) => page.data) ?? []
  return (
    <>
      <input
        type="search"
        className="narrow"
        aria-label={texts.people.find}
        placeholder={texts.people.find}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <QueryState query={query} />
      {data !== undefined && all.length === 0 ? (
        <Empty icon="people" title={texts.people.none} />
      ) : (
        <div className="scroll-x">
          <table className="plain stacked">
            <thead>
              <tr>
                <th>{texts.people.name}</th>
                <th>{texts.signIn.email}</th>
                <th className="wide-only">{texts.people.since}</th>
                <th>
                  <span className="visually-hidden">{texts.people.manage}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map((one) => (
                <tr key={one.id}>
                  <td>
                    <Link href={`/${type.name}/${one.id}`}>{nameOf(type, one)}</Link>{' '}
                    <Invited invitation={invitations.get(`${type.name}/${one.id}`)} />
                  </td>
                  <td>{String(one.email ?? '')}</td>
                  <td className="wide-only">
                    <When at={one.created_at} />
                  </td>
                  <td className="number">
                    <Button onClick={() => setOpen(one)}>{texts.people.manage}</Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>{texts.people.more}</Button>}
      {open !== undefined && (
        <Person
          type={type}
          data={open}
          invitation={invitations.get(`${type.name}/${open.id}`)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

function Invited({ invitation }: { readonly invitation: OpenInvitation | undefined }) {
  const { isInvited, hasExpired } = useTexts().people
  if (invitation === undefined) return null
  return invitation.expired ? (
    <span className="badge warn">{hasExpired}</span>
  ) : (
    <span className="badge">{isInvited}</span>
  )
}
