import { SERVICE } from './description.ts'
import { serverEndpoint } from './endpoint.ts'

export const readDocument = serverEndpoint({
  name: 'getDocument',
  method: 'GET',
  path: '/api/openapi.json',
  tag: SERVICE,
  parameters: [],
  access: 'everyone',
  describe: () => ({
    summary: 'The OpenAPI document',
    description: 'This document: OpenAPI 3.1, made from the declarations.',
    answers: [
      {
        status: 200,
        description: 'The document.',
        headers: [],
        schema: { type: 'object', additionalProperties: true },
      },
    ],
    codes: [],
  }),
  run: async ({ document }) => ({ status: 200, body: await document() }),
})
