import { Component, type ReactNode } from 'react'
import { Failed } from './states.tsx'

/** Shows the error of a page in place of that page. */
export class Failures extends Component<{ readonly children: ReactNode }, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {}

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return <Failed error={error} retry={() => this.setState({ error: undefined })} />
  }
}
