import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function Operations() {
  const texts = useTexts()
  return <Page title={texts.nav.operations}>{null}</Page>
}
