import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function Trash() {
  const texts = useTexts()
  return <Page title={texts.nav.trash}>{null}</Page>
}
