import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function People() {
  const texts = useTexts()
  return <Page title={texts.nav.people}>{null}</Page>
}
