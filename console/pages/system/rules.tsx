import { useState } from 'react'
import { send } from '../../api.ts'
import { labelOf, useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useTexts } from '../../texts/index.ts'

const ACTIONS = ['list', 'read', 'create', 'update', 'delete', 'restore', 'history', 'purge'] as const

/** Shows the declared rules, and answers what one user may do with one Entity. */
export function Rules() {
  return (
    <div className="stack">
      <Ask />
      <RuleTable />
    </div>
  )
}

function RuleTable() {
  const texts = useTexts()
  const { entities } = useModel()
  return entities.map((type) => (
    <section key={type.name} className="card rules">
      <h2>{labelOf(type)}</h2>
      <dl>
        {Object.entries(type.rules?.access ?? {}).map(([action, rule]) => (
          <Rule key={action} name={action} rule={rule} />
        ))}
        {Object.entries(type.rules?.named ?? {}).map(([name, rule]) => (
          <Rule key={`named ${name}`} name={texts.system.named(name)} rule={rule} />
        ))}
        {type.fields.flatMap(({ path, rules }) =>
          (['read', 'write'] as const).flatMap((action) =>
            rules?.[action] === undefined
              ? []
              : [<Rule key={`${path} ${action}`} name={`${path} (${action})`} rule={rules[action]} />],
          ),
        )}
        {type.checks.map(({ at, says, that }) => (
          <Rule key={`${at} ${says}`} name={`${at} ${says}`} rule={that ?? ''} />
        ))}
      </dl>
      {Object.keys(type.rules?.access ?? {}).length === 0 && (
        <p className="muted">{texts.system.onlyAdmins}</p>
      )}
    </section>
  ))
}

function Rule({ name, rule }: { readonly name: string; readonly rule: string | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code>{rule}</code>
      </dd>
    </div>
  )
}

interface MayAnswer {
  readonly may: boolean
  readonly code?: string
  readonly errors?: Readonly<Record<string, readonly string[]>>
}

/** Asks the server whether a user may do something with an Entity. */
function Ask() {
  const texts = useTexts().system
  const { entities } = useModel()
  const [answer, setAnswer] = useState<MayAnswer>()
  const { submit, isBusy, failure, wrong } = useSubmit(async ({ actor, action, path }) => {
    setAnswer(undefined)
    const { body } = await send('POST', 'may/', {
      repeat: 'always',
      body: { actor: actor?.trim(), action, path: path?.trim() },
    })
    setAnswer(body as MayAnswer)
  })
  const example = entities.find(({ login }) => login === null)?.name ?? entities[0]?.name
  return (
    <form className="card ask" onSubmit={submit}>
      <h2>{texts.ask}</h2>
      <div className="columns">
        <FormField
          label={texts.askWho}
          name="actor"
          type="text"
          required
          defaultValue="nobody"
          hint={texts.askWhoHint}
          wrong={wrong('actor')}
        />
        <div className="field">
          <label htmlFor="ask-action">{texts.askWhat}</label>
          <select id="ask-action" name="action" defaultValue="read">
            {ACTIONS.map((action) => (
              <option key={action}>{action}</option>
            ))}
          </select>
        </div>
        <FormField
          label={texts.askWhich}
          name="path"
          type="text"
          required
          placeholder={`${example}/1`}
          hint={texts.askWhichHint}
          wrong={wrong('path')}
        />
      </div>
      <Button type="submit" disabled={isBusy}>
        {texts.askSubmit}
      </Button>
      {failure !== undefined && <p role="alert">{failure}</p>}
      {answer !== undefined && (
        <p role="status">
          <span className={answer.may ? 'badge good' : 'badge bad'}>{answer.may ? texts.yes : texts.no}</span>{' '}
          {answer.code !== undefined && <code>{answer.code}</code>}{' '}
          {Object.entries(answer.errors ?? {})
            .map(([at, said]) => `${at} ${said.join(', ')}`)
            .join('; ')}
        </p>
      )}
    </form>
  )
}
