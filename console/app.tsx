import { type Query, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import { Redirect, Route, Router, Switch } from 'wouter'
import { ApiError } from './api.ts'
import { guardedNavigation } from './navigation-guard.ts'
import { useOtherTabs } from './other-tabs.ts'
import { List } from './pages/list.tsx'
import { Failures } from './parts/failures.tsx'
import { ShownOnce } from './parts/shown-once.tsx'
import { Loading, QueryState } from './parts/states.tsx'
import { Toasts } from './parts/toast.tsx'
import { boundQueries } from './query-cache.ts'
import { isUnsettled, SignedIn, useMeQuery } from './session.ts'
import { useSettings } from './settings.ts'
import { Shell } from './shell.tsx'
import { TextsProvider } from './texts/index.ts'
import { textsIn } from './texts/loaded.ts'

/** Whoever sets up a second factor switches to another app for a code: the form must survive a refetch on return. */
const isSettled = ({ state }: Query) => !isUnsettled(state.error)

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The transport has retried already; and the server would refuse again what it refuses.
      retry: (count, error) => !(error instanceof ApiError) && count < 2,
      staleTime: 10_000,
      refetchOnWindowFocus: isSettled,
      refetchOnReconnect: isSettled,
    },
  },
})

boundQueries(queries)

// The first list does not need these pages: they are loaded later.
const Unsettled = lazy(() => import('./pages/sign-in/unsettled.tsx'))
const SignInPage = lazy(async () => ({ default: (await import('./pages/sign-in/sign-in.tsx')).SignInPage }))
const Home = lazy(() => import('./pages/home.tsx'))
const NewEntity = lazy(() => import('./pages/new-entity.tsx'))
const EntityPage = lazy(() => import('./pages/entity.tsx'))
const Operations = lazy(() => import('./pages/operations.tsx'))
const OperationPage = lazy(() => import('./pages/operation.tsx'))
const Trash = lazy(() => import('./pages/trash.tsx'))
const People = lazy(() => import('./pages/people/people.tsx'))
const Keys = lazy(() => import('./pages/keys/keys.tsx'))
const Account = lazy(() => import('./pages/account/account.tsx'))
const System = lazy(() => import('./pages/system/system.tsx'))

export function App() {
  const { language } = useSettings()
  return (
    <TextsProvider value={textsIn(language)}>
      <QueryClientProvider client={queries}>
        <Router base="/console" aroundNav={guardedNavigation}>
          <Failures>
            <Suspense fallback={<Loading />}>
              <Gate>
                <Shell>
                  <Failures>
                    <Suspense fallback={<Loading />}>
                      <Pages />
                    </Suspense>
                  </Failures>
                </Shell>
              </Gate>
            </Suspense>
          </Failures>
          <ShownOnce />
          <Toasts />
        </Router>
      </QueryClientProvider>
    </TextsProvider>
  )
}

/** The first word of each page's path is a name that no type may have, so that it is never the path of a list. */
function Pages() {
  return (
    <Switch>
      <Route path="/" component={Home} />
      <Route path="/operations" component={Operations} />
      <Route path="/operations/trash" component={Trash} />
      <Route path="/operations/:id">{({ id }) => <OperationPage key={id} id={id} />}</Route>
      <Route path="/auth/people" component={People} />
      <Route path="/auth/keys" component={Keys} />
      <Route path="/auth/account" component={Account} />
      <Route path="/system/*?" component={System} />
      <Route path="/:entity">{({ entity }) => <List key={entity} entity={entity} />}</Route>
      <Route path="/:entity/new">{({ entity }) => <NewEntity key={entity} entity={entity} />}</Route>
      <Route path="/:entity/:id">
        {({ entity, id }) => <EntityPage key={`${entity}/${id}`} entity={entity} id={Number(id)} />}
      </Route>
      <Route>
        <Redirect to="/" />
      </Route>
    </Switch>
  )
}

/** Shows the sign-in page at any address to whoever is not signed in. They stay at that address. */
function Gate({ children }: { readonly children: ReactNode }) {
  const query = useMeQuery()
  useOtherTabs()
  if (isUnsettled(query.error)) return <Unsettled code={query.error.code} />
  if (query.data === undefined) return <QueryState query={query} />
  return query.data === null ? <SignInPage /> : <SignedIn value={query.data}>{children}</SignedIn>
}
