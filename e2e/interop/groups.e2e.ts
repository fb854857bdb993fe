/** Consumer groups of the classic protocol: Kafka's tools, members of two makers in one group, kills, and a restart. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import type { ToolName } from '../kafka/tools.ts'
import { LongProcess } from '../lib/process.ts'
import { waitFor } from '../lib/wait.ts'
import { record } from './records.ts'
import { topicName, world } from './world.ts'

const SESSION_TIMEOUT_MS = 6000

async function run(tool: ToolName, ...args: string[]): Promise<string> {
  return (await world().tools.runOk(tool, ['--bootstrap-server', world().broker.bootstrap, ...args])).stdout
}

const groups = (...args: string[]): Promise<string> => run('kafka-consumer-groups', ...args)

async function fill(topic: string, partitions: number, count: number): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) {
    const records = Array.from({ length: count }, (_, i) => record(`${partition}-${i}`))
    await world().java.write({ topic, partition, codec: 'none', records })
  }
}

/** Committed offset and lag by partition, as kafka-consumer-groups tells them. */
async function positions(group: string, topic: string): Promise<Map<number, { committed: number; lag: number }>> {
  const found = new Map<number, { committed: number; lag: number }>()
  for (const line of (await groups('--describe', '--group', group)).split('\n')) {
    const [, name, partition, committed, , lag] = line.trim().split(/\s+/)
    if (name === topic) found.set(Number(partition), { committed: Number(committed), lag: Number(lag) })
  }
  return found
}

/** A member of a group that runs until it is stopped, and what it has seen: `partition offset` of each record. */
interface Member {
  readonly process: LongProcess
  readonly seen: Set<string>
  assigned: string
}

function javaMember(group: string, topic: string): Member {
  const args = ['--bootstrap-server', world().broker.bootstrap, '--topic', topic, '--group-id', group]
  args.push('--reset-policy', 'earliest', '--session-timeout', String(SESSION_TIMEOUT_MS), '--verbose')
  const seen = new Set<string>()
  const member: Member = {
    seen,
    assigned: '',
    process: world().tools.start('kafka-verifiable-consumer', args, (line) => {
      const event = JSON.parse(line) as {
        name: string
        partition?: number
        offset?: number
        partitions?: { partition: number }[]
      }
      if (event.name === 'record_data') seen.add(`${event.partition ?? ''} ${event.offset ?? ''}`)
      if (event.name === 'partitions_assigned')
        member.assigned = (event.partitions ?? []).map(({ partition }) => partition).join()
    }),
  }
  return member
}

function kcatMember(group: string, topic: string): Member {
  const args = ['-b', world().broker.bootstrap, '-G', group, '-u', '-f', '%p %o\\n']
  args.push('-X', 'auto.offset.reset=earliest', '-X', `session.timeout.ms=${SESSION_TIMEOUT_MS}`)
  args.push('-X', 'partition.assignment.strategy=range', '-X', 'auto.commit.interval.ms=200', topic)
  const seen = new Set<string>()
  const member: Member = {
    seen,
    assigned: '',
    process: new LongProcess('kcat', args, {
      onLine: (line) => seen.add(line),
      onErrorLine: (line) => {
        const assigned = /assigned: (.*)$/.exec(line)?.[1]
        if (assigned !== undefined) member.assigned = [...assigned.matchAll(/\[(\d+)\]/g)].map(([, p]) => p).join()
      },
    }),
  }
  return member
}

describe('consumer groups', () => {
  it('kafka-console-consumer commits, and kafka-consumer-groups lists, describes, resets and deletes', async () => {
    const topic = topicName('group')
    const group = `${topic}-group`
    await world().createTopic(topic, { partitions: 2 })
    await fill(topic, 2, 5)
    const consume = (count: number): Promise<string> =>
      run(
        'kafka-console-consumer',
        ...['--topic', topic, '--group', group, '--from-beginning'],
        ...['--max-messages', String(count), '--timeout-ms', '30000'],
      )
    assert.equal((await consume(10)).trim().split('\n').length, 10)
    assert.deepEqual(
      await positions(group, topic),
      new Map([
        [0, { committed: 5, lag: 0 }],
        [1, { committed: 5, lag: 0 }],
      ]),
    )
    assert.ok((await groups('--list')).split('\n').includes(group))
    assert.match(await groups('--list', '--state'), new RegExp(`${group}\\s+Empty`))
    assert.match(await run('kafka-groups', '--list'), new RegExp(`${group}\\s+Classic\\s+consumer`))
    assert.match(await groups('--describe', '--group', group, '--state'), /Empty\s+0/)
    const to = (...how: string[]): Promise<string> =>
      groups('--reset-offsets', '--group', group, '--topic', topic, '--execute', ...how)
    await to('--to-earliest')
    assert.equal((await positions(group, topic)).get(1)?.lag, 5)
    await to('--shift-by', '3')
    assert.equal((await positions(group, topic)).get(0)?.committed, 3)
    assert.equal((await consume(4)).trim().split('\n').length, 4)
    await groups('--delete-offsets', '--group', group, '--topic', `${topic}:1`)
    assert.deepEqual([...(await positions(group, topic)).keys()], [0])
    assert.match(await groups('--delete', '--group', group), /deleted|successful/i)
    assert.ok(!(await groups('--list')).split('\n').includes(group))
  })

  it('members of two makers share one group, come, go and are killed', async function () {
    this.timeout(180_000)
    const topic = topicName('mixed')
    const group = `${topic}-group`
    await world().createTopic(topic, { partitions: 4 })
    await fill(topic, 4, 5)
    const java = javaMember(group, topic)
    const kcat = kcatMember(group, topic)
    const everybody = [java, kcat]
    const all = (count: number): string[] =>
      Array.from({ length: 4 }, (_, p) => Array.from({ length: count }, (__, o) => `${p} ${o}`)).flat()
    const seenAll = (count: number): true | undefined =>
      all(count).every((each) => everybody.some(({ seen }) => seen.has(each))) || undefined
    try {
      await waitFor('both to have two partitions', 60_000, () => {
        const owned = `${java.assigned},${kcat.assigned}`.split(',').sort().join()
        return owned === '0,1,2,3' && java.assigned !== '' && kcat.assigned !== '' ? true : undefined
      })
      await waitFor('all records', 30_000, () => seenAll(5))
      const members = await groups('--describe', '--group', group, '--members')
      assert.equal(members.split('\n').filter((line) => line.includes(group)).length, 2, members)

      java.process.signal('SIGKILL')
      await java.process.exit
      await fill(topic, 4, 5)
      await waitFor('the survivor to have everything', 60_000, () => (kcat.assigned === '0,1,2,3' ? true : undefined))
      await waitFor('all records again', 30_000, () => seenAll(10))

      const third = javaMember(group, topic)
      everybody.push(third)
      await waitFor('the third to have a part', 60_000, () => (third.assigned === '' ? undefined : true))
      kcat.process.signal('SIGTERM')
      await kcat.process.exit
      await waitFor('the third to have everything', 60_000, () => (third.assigned === '0,1,2,3' ? true : undefined))
      await fill(topic, 4, 5)
      await waitFor('all records at last', 30_000, () => seenAll(15))
      third.process.signal('SIGTERM')
      await third.process.exit
      await waitFor('no lag', 30_000, async () => {
        const lags = [...(await positions(group, topic)).values()].map(({ lag }) => lag)
        return lags.join() === '0,0,0,0' ? true : undefined
      })
    } finally {
      for (const { process: member } of everybody) if (member.exited === undefined) member.signal('SIGKILL')
    }
  })

  it('a broker that was killed knows what was committed', async function () {
    this.timeout(120_000)
    const topic = topicName('kept')
    const group = `${topic}-group`
    await world().createTopic(topic, { partitions: 1 })
    await fill(topic, 1, 7)
    await groups('--reset-offsets', '--group', group, '--topic', topic, '--execute', '--to-offset', '4')
    await world().broker.kill()
    await world().broker.start()
    assert.deepEqual(await positions(group, topic), new Map([[0, { committed: 4, lag: 3 }]]))
  })

  it('DumpLogSegments reads __consumer_offsets with its offsets decoder', async () => {
    const root = world().broker.dataFolder
    const files = readdirSync(root)
      .filter((name) => name.startsWith('__consumer_offsets-'))
      .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
      .filter((path) => path.endsWith('.log'))
    const { stdout, stderr } = await world().tools.runOk('kafka-dump-log', [
      '--offsets-decoder',
      '--files',
      files.join(','),
    ])
    assert.equal(stderr.trim(), '')
    assert.match(stdout, /"type":"1".*"group":"kept/)
    assert.match(stdout, /"type":"2".*"group":"mixed/)
    assert.doesNotMatch(stdout, /isvalid: false|Exception|corrupt/i)
  })
})
