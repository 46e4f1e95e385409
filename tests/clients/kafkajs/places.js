// Partitions, offsets, seeking, flow, lag, errors.
const { add, equal, eventually, fails, sleep, that } = require('./harness')
const {
  admin, at, createTopic, join, names, nothing, numbered, producer, read, send, span, take,
} = require('./kit')

async function filled(run, count) {
  const topic = await createTopic(run)
  await send(run, topic, numbered(count))
  return topic
}

async function ends(run, topic) {
  const [found] = await (await admin(run)).fetchTopicOffsets(topic)
  return [Number(found.low), Number(found.high)]
}

// Committed offsets of a topic by partition.
async function committed(run, groupId, topic) {
  const [found] = await (await admin(run)).fetchOffsets({ groupId, topics: [topic] })
  return Object.fromEntries(found.partitions.map(p => [p.partition, Number(p.offset)]))
}

async function commit(run, groupId, topic, offsets) {
  const partitions = Object.entries(offsets).map(([partition, offset]) => ({ partition: Number(partition), offset: String(offset) }))
  await (await admin(run)).setOffsets({ groupId, topic, partitions })
}

add('partitions.chosen_partition', async run => {
  const topic = await createTopic(run, 4)
  await send(run, topic, [{ value: 'here', partition: 2 }])
  const got = await read(run, topic, 1)
  equal([got[0].partition, ...at(got)], [2, '0=here'])
})
add('partitions.order_per_partition', async run => {
  const topic = await createTopic(run, 4)
  await send(run, topic, Array.from({ length: 1000 }, (_, i) => ({ value: String(i), partition: i % 4 })))
  const member = await join(run, topic)
  const got = await take(member, 1000)
  for (let partition = 0; partition < 4; partition++) {
    const expected = Array.from({ length: 250 }, (_, n) => `${n}=${n * 4 + partition}`)
    equal(at(got.filter(m => m.partition === partition)), expected, `partition ${partition}`)
  }
})
add('partitions.same_key_same_partition', async run => {
  const topic = await createTopic(run, 4)
  await send(run, topic, Array.from({ length: 100 }, (_, i) => ({ key: `k${i % 10}`, value: 'v' })))
  const homes = {}
  for (const message of await read(run, topic, 100)) (homes[message.key] ??= new Set()).add(message.partition)
  equal(Object.keys(homes).length, 10, 'keys')
  that(Object.values(homes).every(home => home.size === 1), 'a key in several partitions')
  that(new Set(Object.values(homes).map(home => [...home][0])).size > 1, 'all keys in one partition')
})
add('partitions.many', async run => {
  const topic = await createTopic(run, 64)
  await send(run, topic, Array.from({ length: 64 }, (_, p) => ({ value: String(p), partition: p })))
  const got = await read(run, topic, 64)
  equal(got.map(m => `${m.partition}:${m.offset}=${m.value}`), Array.from({ length: 64 }, (_, p) => `${p}:0=${p}`))
})
add('offsets.in_sequence', async run => {
  const topic = await createTopic(run)
  const client = await producer(run)
  for (let i = 0; i < 100; i += 10) {
    const [placed] = await client.send({ topic, messages: numbered(100).slice(i, i + 10) })
    equal(Number(placed.baseOffset), i, 'acknowledged')
  }
  equal(at(await read(run, topic, 100)), span(0, 100), 'records')
})
add('offsets.watermarks', async run => {
  const topic = await createTopic(run)
  equal(await ends(run, topic), [0, 0], 'empty')
  await send(run, topic, numbered(7))
  equal(await ends(run, topic), [0, 7], 'after 7')
})
add('offsets.reset_earliest', async run => {
  const topic = await filled(run, 5)
  equal(at(await take(await join(run, topic, { fromBeginning: true }), 5)), span(0, 5), 'records')
})
add('offsets.reset_latest', async run => {
  const topic = await filled(run, 1)
  const member = await join(run, topic, { fromBeginning: false })
  await eventually(() => member.joins > 0 && member.fetches > 1, 'fetches')
  await nothing(member, 500)
  await send(run, topic, [{ value: 'after' }])
  equal(at(await take(member, 1)), ['1=after'], 'records')
})
add('offsets.out_of_range', async run => {
  const topic = await filled(run, 3)
  const member = await join(run, topic)
  await take(member, 3)
  member.client.seek({ topic, partition: 0, offset: '1000' })
  equal(at(await take(member, 3)), span(0, 3), 'records after the reset to the beginning')
})
add('offsets.commit_and_resume', async run => {
  const topic = await filled(run, 10)
  const first = await join(run, topic, { runOptions: { autoCommit: false } })
  await take(first, 10)
  await first.client.commitOffsets([{ topic, partition: 0, offset: '4' }])
  await first.leave()
  equal(await committed(run, first.group, topic), { 0: 4 }, 'committed')
  equal(at(await take(await join(run, topic, { group: first.group }), 6)), span(4, 10), 'second reads')
})
add('offsets.commit_metadata', async run => {
  const topic = await filled(run, 3)
  const member = await join(run, topic, { runOptions: { autoCommit: false } })
  await take(member, 3)
  await member.client.commitOffsets([{ topic, partition: 0, offset: '2', metadata: 'why: заметка' }])
  const [found] = await (await admin(run)).fetchOffsets({ groupId: member.group, topics: [topic] })
  equal(found.partitions, [{ partition: 0, offset: '2', metadata: 'why: заметка' }], 'committed')
})
add('offsets.committed_none', async run => {
  const topic = await createTopic(run, 2)
  const group = run.group()
  await commit(run, group, topic, { 1: 5 })
  equal(await committed(run, group, topic), { 0: -1, 1: 5 }, 'committed')
})
add('offsets.auto_commit', async run => {
  const topic = await filled(run, 6)
  const member = await join(run, topic, { runOptions: { autoCommitInterval: 60000 } })
  await take(member, 6)
  await member.leave()
  equal(await committed(run, member.group, topic), { 0: 6 }, 'committed')
})
add('seek.offset', async run => {
  const topic = await filled(run, 20)
  const member = await join(run, topic)
  await take(member, 20)
  member.client.seek({ topic, partition: 0, offset: '13' })
  equal(at(await take(member, 7)), span(13, 20), 'records')
})
add('seek.beginning_end', async run => {
  const topic = await filled(run, 5)
  const member = await join(run, topic)
  await take(member, 5)
  member.client.seek({ topic, partition: 0, offset: '0' })
  equal(at(await take(member, 5)), span(0, 5), 'from the beginning')
  member.client.seek({ topic, partition: 0, offset: String((await ends(run, topic))[1]) })
  await nothing(member, 500)
  await send(run, topic, [{ value: 'later' }])
  equal(at(await take(member, 1)), ['5=later'], 'from the end')
})
add('seek.timestamp', async run => {
  const topic = await createTopic(run)
  const start = Date.now() - 100_000
  await send(run, topic, numbered(10).map((m, i) => ({ ...m, timestamp: String(start + i * 1000) })))
  const member = await join(run, topic)
  await take(member, 10)
  const [found] = await (await admin(run)).fetchTopicOffsetsByTimestamp(topic, start + 5500)
  member.client.seek({ topic, partition: 0, offset: found.offset })
  const got = await take(member, 4)
  equal(at(got), span(6, 10), 'records')
  equal(Number(got[0].timestamp) - start, 6000, 'timestamp')
})
add('seek.middle_of_batch', async run => {
  const topic = await createTopic(run)
  const { CODECS } = require('./records')
  await send(run, topic, numbered(100), { compression: CODECS.gzip })
  const member = await join(run, topic)
  await take(member, 100)
  member.client.seek({ topic, partition: 0, offset: '57' })
  equal(at(await take(member, 43)), span(57, 100), 'records')
})
add('flow.pause_resume', async run => {
  const topic = await createTopic(run, 2)
  const both = value => [{ value, partition: 0 }, { value, partition: 1 }]
  const member = await join(run, topic)
  await send(run, topic, both('0'))
  await take(member, 2)
  member.client.pause([{ topic, partitions: [0] }])
  await sleep(500) // A fetch that is under way may still answer.
  await send(run, topic, both('1'))
  equal((await take(member, 1))[0].partition, 1, 'partition while the other is paused')
  await nothing(member, 600)
  member.client.resume([{ topic, partitions: [0] }])
  const got = await take(member, 1)
  equal([got[0].partition, ...at(got)], [0, '1=1'], 'resumed')
})
add('flow.long_poll', async run => {
  const topic = await createTopic(run)
  const member = await join(run, topic, { maxWaitTimeInMs: 20000, heartbeatInterval: 1000, sessionTimeout: 30000 })
  const client = await producer(run)
  await client.send({ topic, messages: [{ value: 'warm' }] })
  await take(member, 1)
  for (let i = 1; i <= 3; i++) {
    await nothing(member, 400)
    const began = Date.now()
    await client.send({ topic, messages: [{ value: 'late' }] })
    equal(at(await take(member, 1)), [`${i}=late`], 'record')
    that(Date.now() - began < 5000, `a record took ${Date.now() - began} ms of a fetch wait of 20 s`)
  }
})
add('flow.quiet_fetch_waits', async run => {
  const topic = await filled(run, 1)
  const member = await join(run, topic, { maxWaitTimeInMs: 500 })
  await take(member, 1)
  const before = member.fetches
  await nothing(member, 3000)
  const fetches = member.fetches - before
  that(fetches >= 2 && fetches <= 14, `${fetches} fetches of an empty topic in 3 s with a wait of 500 ms`)
})
add('lag.lag', async run => {
  const topic = await createTopic(run, 2)
  const group = run.group()
  await send(run, topic, [...numbered(10), ...numbered(4, { partition: 1 })])
  await commit(run, group, topic, { 0: 3, 1: 4 })
  const stored = await committed(run, group, topic)
  const lag = {}
  for (const p of await (await admin(run)).fetchTopicOffsets(topic)) lag[p.partition] = Number(p.high) - stored[p.partition]
  equal(lag, { 0: 7, 1: 0 }, 'lag')
})
add('errors.unknown_topic', async run => {
  const topic = run.topic()
  await fails('UNKNOWN_TOPIC_OR_PARTITION', send(run, topic, [{ value: 'x' }], {}, {
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 20, retries: 2 },
  }))
  that(!(await names(run)).includes(topic), 'created')
})
add('errors.invalid_topic_name', run => fails('INVALID_TOPIC_EXCEPTION', send(run, 'not a name', [{ value: 'x' }], {}, {
  retry: { initialRetryTime: 20, retries: 2 },
})))

module.exports = { commit, committed, ends, filled }
