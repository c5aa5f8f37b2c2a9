import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ReactNode
  /** Called when it is closed by Escape or by its button. Without it, only the actions close the dialog. */
  onClose?(): void
  readonly wide?: boolean
  /** The buttons at the end. */
  readonly actions?: ReactNode
}

const TYPED = '.dialog-body :is(input:not([type=checkbox], [type=radio], [type=hidden]), textarea)'

/** A modal dialog, open while it is rendered. */
export function Dialog({ title, children, onClose, wide = false, actions }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const texts = useTexts()
  useEffect(() => {
    if (dialog.current?.open !== false) return
    dialog.current.showModal()
    // In a form, the first input gets the focus, not the close button.
    dialog.current.querySelector<HTMLElement>(TYPED)?.focus()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      // Browsers close a dialog at a second Escape, so it is opened again.
      onClose={() => (onClose === undefined ? dialog.current?.showModal() : onClose())}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        {onClose !== undefined && (
          <Button icon="close" tone="plain" aria-label={texts.close} onClick={onClose} />
        )}
      </header>
      <div className="dialog-body">{children}</div>
      {actions !== undefined && <footer>{actions}</footer>}
    </dialog>
  )
}
