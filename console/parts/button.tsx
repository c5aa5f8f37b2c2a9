import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { Keys } from './keys.tsx'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon?: IconName
  /** `main`: the main action. `danger`: cannot be taken back, or removes much. `plain`: without a frame. */
  readonly tone?: 'main' | 'danger' | 'plain'
  readonly keys?: string
  readonly children?: ReactNode
}

/** Without children, it needs an `aria-label`. */
export function Button({ icon, tone, keys, children, className = '', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${tone ?? ''} ${children === undefined ? 'square' : ''} ${className}`}
      title={rest.title ?? (children === undefined ? rest['aria-label'] : undefined)}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
      {keys !== undefined && <Keys keys={keys} />}
    </button>
  )
}
