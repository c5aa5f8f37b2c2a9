import { type ReactNode, useEffect } from 'react'

interface PageProps {
  readonly title: string
  /** Shown before the title: where the page belongs. */
  readonly above?: ReactNode
  /** Buttons at the right of the title. */
  readonly actions?: ReactNode
  /** Below the title, above the content: filters, tabs. */
  readonly bar?: ReactNode
  /** Whether the content fills the page and scrolls by itself, as grids do. */
  readonly full?: boolean
  readonly children: ReactNode
}

/** The frame of every page: title, actions, content. */
export function Page({ title, above, actions, bar, full = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Takeback`
  }, [title])
  return (
    <main id="content" className={full ? 'page full' : 'page'} tabIndex={-1}>
      <header className="page-head">
        <div className="page-title">
          {above !== undefined && <nav className="above">{above}</nav>}
          <h1>{title}</h1>
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      {bar !== undefined && <div className="page-bar">{bar}</div>}
      <div className="page-content">{children}</div>
    </main>
  )
}
