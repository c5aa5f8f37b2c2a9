import { Page } from '../parts/page.tsx'

export default function EntityPage({ entity, id }: { readonly entity: string; readonly id: number }) {
  return <Page title={`${entity}/${id}`}>{null}</Page>
}
