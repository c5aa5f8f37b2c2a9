import { Page } from '../parts/page.tsx'
import { useTexts } from '../texts/index.ts'

export default function Home() {
  const texts = useTexts()
  return <Page title={texts.nav.home}>{null}</Page>
}
