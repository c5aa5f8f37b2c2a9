import { Page } from '../parts/page.tsx'

export default function OperationPage({ id }: { readonly id: string }) {
  return <Page title={id}>{null}</Page>
}
