import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function Keys() {
  const texts = useTexts()
  return <Page title={texts.nav.keys}>{null}</Page>
}
