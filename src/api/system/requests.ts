import { budget } from '../../budget.ts'
import { refTo, SYSTEM } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'

export const readRequests = serverEndpoint({
  name: 'getRequests',
  method: 'GET',
  path: '/api/system/requests/',
  tag: SYSTEM,
  parameters: [],
  access: 'admins',
  describe: () => ({
    summary: 'How long requests take',
    description: `What the instance that answers has done since its start: how many requests each endpoint had, and how long they took; the last 60 minutes; and statements that took ${budget.slowMs} milliseconds or more in the last hour, without values.`,
    answers: [{ status: 200, description: 'The figures.', headers: [], schema: refTo('RequestFigures') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: ({ requests, store, work }) => ({
    status: 200,
    body: JSON.stringify({ instance: work.instance, ...requests.state(), slow: store.slow.list() }),
  }),
})
