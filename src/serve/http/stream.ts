/**
 * Passes a stream on, and calls `onEnd` when it is over, with the error if it was broken off. Bun cancels a stream only
 * when it has something to send, so `gone` says when nobody reads any more.
 */
export function watched(
  source: ReadableStream<Uint8Array>,
  gone: AbortSignal,
  onEnd: (error?: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  let isOver = false
  const end = (error?: unknown) => {
    if (isOver) return
    isOver = true
    gone.removeEventListener('abort', leave)
    onEnd(error)
  }
  const leave = () => {
    end()
    reader.cancel().catch(() => {})
  }
  gone.addEventListener('abort', leave)
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
        end()
      } catch (error) {
        controller.error(error)
        end(error)
      }
    },
    cancel: leave,
  })
}
