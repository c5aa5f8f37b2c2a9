import { Page } from '../parts/page.tsx'

export default function NewEntity({ entity }: { readonly entity: string }) {
  return <Page title={entity}>{null}</Page>
}
