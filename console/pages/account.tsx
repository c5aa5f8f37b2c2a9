import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function Account() {
  const texts = useTexts()
  return <Page title={texts.nav.account}>{null}</Page>
}
