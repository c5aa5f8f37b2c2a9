import { useState } from 'react'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'

const SAYS_MS = 2000

interface CopyButtonProps {
  readonly text: string
  /** The label before a click. */
  readonly label: string
  readonly tone?: 'plain'
}

/** Copies a text. Browsers allow this only on https and localhost: elsewhere, there is no button. */
export function CopyButton({ text, label, tone }: CopyButtonProps) {
  const texts = useTexts()
  const [isCopied, setCopied] = useState(false)
  if (navigator.clipboard === undefined) return null
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), SAYS_MS)
  }
  return (
    <Button {...(tone && { tone })} icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
      {isCopied ? texts.tryApi.copied : label}
    </Button>
  )
}
