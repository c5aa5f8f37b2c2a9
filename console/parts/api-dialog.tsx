import { useTexts } from '../texts/index.ts'
import { type ApiCall, clientCodeOf, curlOf } from './api-call.ts'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'

/** Shows a call to copy. */
export default function ApiDialog({ call, onClose }: { readonly call: ApiCall; onClose(): void }) {
  const texts = useTexts()
  const { origin } = location
  return (
    <Dialog title={texts.tryApi.title} wide onClose={onClose}>
      <div className="api-code">
        <p className="muted">{texts.tryApi.hint}</p>
        <Code title={texts.tryApi.curl} text={curlOf(call, origin)} />
        <Code title={texts.tryApi.client} text={clientCodeOf(call, origin)} />
        <p>
          <a href="/docs" target="_blank" rel="noreferrer">
            {texts.tryApi.docs}
          </a>
        </p>
      </div>
    </Dialog>
  )
}

/** A text with a copy button. */
export function Code({ title, text }: { readonly title: string; readonly text: string }) {
  const texts = useTexts()
  return (
    <section className="code">
      <header>
        <h3>{title}</h3>
        <CopyButton text={text} label={texts.tryApi.copy} tone="plain" />
      </header>
      <pre>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line scrolls, also by keyboard. */}
        <code tabIndex={0}>{text}</code>
      </pre>
    </section>
  )
}
