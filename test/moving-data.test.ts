import { expect, test } from 'bun:test'
import * as takeback from 'takeback'
import { testApp } from 'takeback/testing'
import { blocksOf, exportedBy } from './markdown.ts'

test('the job of docs/migrations.md moves everything once, and can be run again', async () => {
  const [block] = blocksOf('docs/migrations.md').filter(({ text }) => text.includes('split: {'))
  if (block === undefined) throw new Error('The section is gone.')
  await using app = await testApp(exportedBy(block, takeback) as takeback.AppDeclaration)
  const { people, phones } = app.system as unknown as Record<'people' | 'phones', any>
  // Exactly two pages, and somebody without a phone.
  const numbers = Array.from({ length: 400 }, (_, at) => ({ name: `Person ${at}`, phone: `+41 ${at}` }))
  await people.create([...numbers, { name: 'Nobody' }])
  for (let run = 0; run < 2; run++) {
    await app.run('split')
    const all = await phones.list({ sort: 'id' }).all()
    expect(all.map(({ number }: { number: string }) => number).toSorted()).toEqual(
      numbers.map(({ phone }) => phone).toSorted(),
    )
  }
})
