import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get, type Page as ListPage } from '../../api.ts'
import { useModel } from '../../model.ts'
import { useParameter } from '../../moment.ts'
import { Actor } from '../../parts/actor.tsx'
import { Button } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, QueryState } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { paged } from '../../query-cache.ts'
import { useTexts } from '../../texts/index.ts'
import { EndKey } from './end-key.tsx'
import { type Key, rightsOf } from './key.ts'
import { NewKey } from './new-key.tsx'

const PAGE = 100

/** The user's keys for programs and agents; for admins those of everybody, or of `?user=users/5`. */
export default function Keys() {
  const texts = useTexts()
  const [user] = useParameter('user')
  const { admin } = useModel()
  const everybody = admin && user === undefined
  const [isMaking, setMaking] = useState(false)
  const [ending, setEnding] = useState<Key>()
  const query = useInfiniteQuery({
    queryKey: ['auth', 'keys', user, everybody],
    ...paged((cursor) => get<ListPage<Key>>('auth/keys/', { user, everybody, limit: PAGE, cursor })),
  })
  const { data, hasNextPage, isFetching, fetchNextPage } = query
  if (data === undefined) return <QueryState query={query} />
  const keys = data.pages.flatMap((page) => page.data)
  const make = (
    <Button icon="plus" tone="main" onClick={() => setMaking(true)}>
      {texts.keys.make}
    </Button>
  )
  return (
    <Page title={texts.nav.keys} actions={make} above={user && <Actor actor={user} />}>
      <QueryState query={query} />
      {keys.length === 0 ? (
        <Empty icon="key" title={texts.keys.none} action={make}>
          {texts.keys.help}
        </Empty>
      ) : (
        <KeyTable keys={keys} end={setEnding} />
      )}
      {hasNextPage && (
        <div className="end">
          <Button onClick={() => !isFetching && void fetchNextPage()}>{texts.operations.more}</Button>
        </div>
      )}
      {isMaking && <NewKey user={user} onClose={() => setMaking(false)} />}
      {ending !== undefined && <EndKey of={ending} onClose={() => setEnding(undefined)} />}
    </Page>
  )
}

function KeyTable({ keys, end }: { readonly keys: readonly Key[]; end(key: Key): void }) {
  const texts = useTexts().keys
  return (
    <div className="scroll-x">
      <table className="plain stacked">
        <thead>
          <tr>
            <th>{texts.name}</th>
            <th>{texts.owner}</th>
            <th>{texts.rights}</th>
            <th>{texts.limits}</th>
            <th>{texts.used}</th>
            <th>{texts.expires}</th>
            <th>
              <span className="visually-hidden">{texts.end}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>
                <a href={`/console/operations?actor=${encodeURIComponent(key.actor)}`}>{key.name}</a>{' '}
                {key.agent && <span className="badge accent">{texts.agent}</span>}
                <br />
                <code className="muted">{key.actor}</code>
              </td>
              <td data-label={texts.owner}>
                <Actor actor={key.user} />
              </td>
              <td data-label={texts.rights}>{rightsOf(key, texts)}</td>
              <td data-label={texts.limits}>
                {Object.entries(key.limits ?? {}).map(([name, count]) => (
                  <div key={name}>{texts.limit[name as keyof typeof texts.limit](count)}</div>
                ))}
              </td>
              <td data-label={texts.used}>
                {key.last_used_at === null ? texts.never : <When at={key.last_used_at} />}
              </td>
              <td data-label={texts.expires}>
                {key.expires_at === null ? texts.never : <When at={key.expires_at} />}
              </td>
              <td className="number">
                <Button onClick={() => end(key)}>{texts.end}</Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
