import type { AnyAnswer, Context } from '../../api/context.ts'
import { didYouMean } from '../../declare/closest.ts'
import { isRecord } from '../../declare/record.ts'
import { type Errors, Failure, invalid } from '../../errors.ts'
import { answerFailure } from '../http/answer.ts'
import type { HttpCall } from '../http/http-call.ts'
import { checkArguments } from './arguments.ts'
import { loadPackage, ownTools, type Package, serverOf } from './protocol.ts'
import { errorOf, type ToolResult } from './result.ts'
import { ToolUse } from './tool-call.ts'
import { type Tool, tools } from './tools.ts'

/** Answers one message. The answer is complete before it is sent: nothing streams. */
export async function answerMessage(context: Context, call: HttpCall): Promise<AnyAnswer> {
  call.query.refuseAll()
  const sdk = await loadPackage()
  const server = () =>
    serverOf(sdk, {
      version: context.settings.version,
      list: ownTools,
      use: async (name, given) => useTool(context, call, toolNamed(name, sdk), given),
    })
  const failed: Error[] = []
  const onerror = (error: Error) => failed.push(error)
  const handler = sdk.createMcpHandler(server, { onerror, maxSubscriptions: 0, keepAliveMs: 0 })
  const headers = new Headers(call.headers)
  headers.delete('authorization')
  const request = new Request('http://localhost/mcp', { method: 'POST', headers, signal: call.signal })
  const response = await handler.fetch(request, { parsedBody: call.body })
  const { status } = response
  if (status === 500) throw new Failure('internal', { cause: failed[0] })
  const type = response.headers.get('content-type')
  const body = await response.text()
  return { status, ...(body !== '' && { body }), ...(type !== null && { type }) }
}

/** Finds a tool. Throws an error of the protocol if there is none with this name. */
function toolNamed(name: string, { ProtocolError, ProtocolErrorCode }: Package): Tool {
  const tool = tools.find((one) => one.name === name)
  if (tool !== undefined) return tool
  const names = tools.map((one) => one.name)
  const guess = didYouMean(name, names) || `: there are ${names.join(', ')}`
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name}"${guess}`)
}

/** Runs a tool. Returns its answer, or an error as in the HTTP API. */
async function useTool(context: Context, call: HttpCall, tool: Tool, given: unknown): Promise<ToolResult> {
  try {
    const result = await tool.run(new ToolUse(context, call), checked(tool, given))
    call.recordTool(tool.name, 200)
    return result
  } catch (error) {
    const { status, body } = answerFailure(error, call.requestId, context.observer, context.explainsDenials)
    call.recordTool(tool.name, status)
    return errorOf(String(body))
  }
}

function checked({ takes }: Tool, given: unknown) {
  const errors: Errors = new Map()
  const taken = checkArguments(isRecord(given) ? given : {}, takes, errors)
  if (errors.size > 0) throw invalid(errors)
  return taken
}
