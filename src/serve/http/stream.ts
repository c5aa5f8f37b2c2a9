/** The same stream, and `onEnd` once it is over: with the error that broke it off, where one did. */
export function watched(
  source: ReadableStream<Uint8Array>,
  onEnd: (error?: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
        onEnd()
      } catch (error) {
        controller.error(error)
        onEnd(error)
      }
    },
    async cancel(reason) {
      onEnd()
      await reader.cancel(reason)
    },
  })
}
