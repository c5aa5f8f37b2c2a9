import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { ApiResponse } from '../client/transport.ts'
import { send } from './api.ts'
import { explain } from './explain.ts'
import { showToast } from './parts/toast.tsx'
import { useTexts } from './texts/index.ts'

/**
 * Runs a write, refetches the data that it affects, and shows a toast with an undo button. Errors are thrown: a form
 * shows them at its fields. `done` is the text of the toast, or a function of the answer.
 */
export function useWrite(): (
  done: string | ((received: ApiResponse) => string),
  write: () => Promise<ApiResponse>,
) => Promise<ApiResponse> {
  const queries = useQueryClient()
  const texts = useTexts()
  const undo = useCallback(
    async (operation: string) => {
      try {
        await send('POST', `operations/${operation}/undo/`)
        await queries.invalidateQueries()
        showToast({ text: texts.undo.done })
      } catch (error) {
        showToast({
          text: explain(error, texts),
          tone: 'bad',
          link: { to: `/operations/${operation}?undo=1`, text: texts.undo.look },
        })
      }
    },
    [queries, texts],
  )
  return useCallback(
    async (done, write) => {
      const received = await write()
      const operation = received.headers.get('takeback-operation')
      void queries.invalidateQueries()
      showToast({
        text: typeof done === 'string' ? done : done(received),
        ...(operation !== null && { action: { text: texts.undo.undo, run: () => undo(operation) } }),
      })
      return received
    },
    [queries, texts, undo],
  )
}
