// Topic lifecycle.
const { add, equal, eventually, fails, that } = require('./harness')
const { admin, at, create, createTopic, names, numbered, read, readyPartitions, send } = require('./kit')

const remove = async (run, topic) => (await admin(run)).deleteTopics({ topics: [topic], timeout: 15000 })
const gone = (run, topic) => eventually(async () => !(await names(run)).includes(topic), 'gone', 15)

add('topics.create_describe_list', async run => {
  const topic = await createTopic(run, 3)
  const { topics } = await (await admin(run)).fetchTopicMetadata({ topics: [topic] })
  equal(topics[0].name, topic, 'name')
  equal(topics[0].partitions.map(p => p.partitionId).sort(), [0, 1, 2], 'partitions')
  that(topics[0].partitions.every(p => p.leader >= 0 && p.replicas.length > 0), 'leaders')
  that((await names(run)).includes(topic), 'not listed')
})
add('topics.create_existing', async run => {
  const topic = await createTopic(run)
  equal(await create(run, topic), false, 'created again') // kafkajs turns TOPIC_ALREADY_EXISTS into false.
})
add('topics.create_invalid_name', async run => {
  for (const name of ['not a name', '..', 'x'.repeat(250)]) {
    await fails('INVALID_TOPIC_EXCEPTION', create(run, name))
    that(!(await names(run)).includes(name), 'created')
  }
})
add('topics.create_zero_partitions', run => fails('INVALID_PARTITIONS', create(run, run.topic(), 0)))
add('topics.create_with_configs', async run => {
  const topic = await createTopic(run, 1, { 'retention.ms': 123456, 'max.message.bytes': 77777 })
  const { shown } = require('./settings')
  equal(await shown(run, topic, 'retention.ms', 'max.message.bytes'), ['123456', '77777'], 'configs')
})
add('topics.validate_only', async run => {
  const topic = run.topic()
  equal(await create(run, topic, 1, {}, { validateOnly: true }), true, 'valid')
  that(!(await names(run)).includes(topic), 'created')
  equal(await create(run, await createTopic(run), 1, {}, { validateOnly: true }), false, 'valid though it exists')
})
add('topics.delete', async run => {
  const topic = await createTopic(run)
  that((await names(run)).includes(topic), 'not listed')
  await remove(run, topic)
  await gone(run, topic)
})
add('topics.delete_unknown', run => fails('UNKNOWN_TOPIC_OR_PARTITION', remove(run, run.topic())))
add('topics.recreate_is_empty', async run => {
  const topic = await createTopic(run)
  await send(run, topic, [{ value: 'old' }])
  await remove(run, topic)
  await gone(run, topic)
  await createTopic(run, 1, {}, topic)
  equal(await send(run, topic, [{ value: 'new' }]), { 0: 0 }, 'placed')
  equal(at(await read(run, topic, 1)), ['0=new'], 'records')
})
add('topics.grow_partitions', async run => {
  const topic = await createTopic(run, 1)
  await send(run, topic, [{ value: 'first', partition: 0 }])
  await (await admin(run)).createPartitions({ topicPartitions: [{ topic, count: 4 }], timeout: 15000 })
  await eventually(async () => (await readyPartitions(run, topic)).length === 4, 'four partitions', 15)
  await send(run, topic, [{ value: 'second', partition: 3 }])
  const got = await read(run, topic, 2)
  equal(got.map(m => `${m.partition}:${m.value}`), ['0:first', '3:second'], 'records')
})
add('topics.shrink_partitions_refused', async run => {
  const topic = await createTopic(run, 3)
  const shrink = (await admin(run)).createPartitions({ topicPartitions: [{ topic, count: 2 }], timeout: 15000 })
  await fails('INVALID_PARTITIONS', shrink)
  equal((await readyPartitions(run, topic)).length, 3, 'partitions')
})
add('topics.auto_create', async run => {
  const topic = run.topic()
  equal(await send(run, topic, numbered(1)), { 0: 0 }, 'placed')
  that((await names(run)).includes(topic), 'not listed')
  equal(at(await read(run, topic, 1)), ['0=0'], 'records')
})
add('topics.describe_unknown', async run => {
  const topic = run.topic()
  await fails('UNKNOWN_TOPIC_OR_PARTITION', (await admin(run)).fetchTopicMetadata({ topics: [topic] }))
  that(!(await names(run)).includes(topic), 'created')
})
