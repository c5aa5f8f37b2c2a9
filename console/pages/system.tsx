import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function System() {
  const texts = useTexts()
  return <Page title={texts.nav.system}>{null}</Page>
}
