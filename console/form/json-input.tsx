import { useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { useTexts } from '../texts/index.ts'
import type { ControlProps } from './control-props.ts'
import { useDraft } from './form-context.ts'
import { jsonParts, parseJson } from './json-text.ts'

/** Longer texts have no colours: each key press would colour the whole text again. */
const COLOURED = 20_000

/** An input for JSON, with coloured text behind it. It shows where a mistake is. */
export function JsonInput({ path, id, label, describedBy, isWrong }: ControlProps) {
  const texts = useTexts()
  const [draft, change] = useDraft(path)
  const text = typeof draft === 'string' ? draft : ''
  const behind = useRef<HTMLPreElement>(null)
  const parsed = text === '' ? undefined : parseJson(text)
  const isColoured = text.length <= COLOURED
  const mistake = parsed !== undefined && !('value' in parsed) ? parsed : undefined
  return (
    <div className="json-input">
      <div className={isColoured ? 'json-editor coloured' : 'json-editor'}>
        {isColoured && <Coloured text={text} ref={behind} />}
        <textarea
          id={id}
          aria-label={label}
          aria-describedby={describedBy}
          aria-invalid={isWrong || mistake !== undefined || undefined}
          spellCheck={false}
          rows={3}
          value={text}
          onChange={(event) => change(event.target.value)}
          onScroll={({ currentTarget }) => {
            if (behind.current === null) return
            behind.current.scrollTop = currentTarget.scrollTop
            behind.current.scrollLeft = currentTarget.scrollLeft
          }}
        />
      </div>
      <div className="json-foot">
        <p className="hint">
          {mistake === undefined ? '' : texts.entity.json.mistake(mistake.line ?? 1, mistake.column ?? 1)}
        </p>
        <Button
          tone="plain"
          disabled={parsed === undefined || mistake !== undefined}
          onClick={() =>
            parsed !== undefined && 'value' in parsed && change(JSON.stringify(parsed.value, null, 2))
          }
        >
          {texts.entity.json.format}
        </Button>
      </div>
    </div>
  )
}

function Coloured({ text, ref }: { readonly text: string; readonly ref: React.Ref<HTMLPreElement> }) {
  return (
    <pre aria-hidden="true" ref={ref}>
      {jsonParts(text).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have nothing but their place.
        <span key={at} className={`json-${part.kind}`}>
          {part.text}
        </span>
      ))}
      {/* Like the textarea, which shows an empty last line. */}
      {'\n'}
    </pre>
  )
}
