// Configs, DeleteRecords, the cluster.
const { ConfigResourceTypes } = require('kafkajs')
const { add, equal, eventually, fails, that } = require('./harness')
const { admin, at, create, createTopic, read, send, span } = require('./kit')
const { ends, filled } = require('./places')

const DYNAMIC_TOPIC_CONFIG = 1

async function describe(run, name, type = ConfigResourceTypes.TOPIC) {
  const { resources } = await (await admin(run)).describeConfigs({ includeSynonyms: false, resources: [{ type, name }] })
  return Object.fromEntries(resources[0].configEntries.map(entry => [entry.configName, entry]))
}

async function shown(run, topic, ...names) {
  const configs = await describe(run, topic)
  return names.map(name => configs[name].configValue)
}

async function alter(run, name, configs) {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  const resources = [{ type: ConfigResourceTypes.TOPIC, name, configEntries }]
  return (await admin(run)).alterConfigs({ validateOnly: false, resources })
}

add('configs.describe_defaults', async run => {
  const configs = await describe(run, await createTopic(run))
  const expected = { 'retention.ms': '604800000', 'cleanup.policy': 'delete', 'message.timestamp.type': 'CreateTime' }
  for (const [name, value] of Object.entries(expected)) {
    equal(configs[name].configValue, value, name)
    that(configs[name].configSource !== DYNAMIC_TOPIC_CONFIG, `${name} is not a default`)
  }
})
add('configs.legacy_alter', async run => {
  const topic = await createTopic(run, 1, { 'max.message.bytes': 100000 })
  await alter(run, topic, { 'retention.ms': '7200000' })
  await eventually(async () => {
    const found = await shown(run, topic, 'retention.ms', 'max.message.bytes')
    return found.join() === '7200000,1048588'
  }, 'retention.ms set and max.message.bytes back to its default', 5)
})
add('configs.invalid_value', async run => {
  const topic = await createTopic(run, 1, { 'retention.ms': 1234567 })
  await fails('INVALID_CONFIG', alter(run, topic, { 'retention.ms': 'banana' }))
  equal(await shown(run, topic, 'retention.ms'), ['1234567'], 'retention.ms')
  await fails('INVALID_CONFIG', create(run, run.topic(), 1, { 'retention.ms': 'banana' }))
})
add('configs.unknown_name', async run => {
  await fails('INVALID_CONFIG', alter(run, await createTopic(run), { 'no.such.config': '1' }))
  await fails('INVALID_CONFIG', create(run, run.topic(), 1, { 'no.such.config': '1' }))
})
add('configs.unknown_topic', async run => {
  const topic = run.topic()
  await fails('UNKNOWN_TOPIC_OR_PARTITION', describe(run, topic))
  await fails('UNKNOWN_TOPIC_OR_PARTITION', alter(run, topic, { 'retention.ms': '3600000' }))
})
add('configs.describe_broker', async run => {
  const { brokers } = await (await admin(run)).describeCluster()
  const configs = await describe(run, String(brokers[0].nodeId), ConfigResourceTypes.BROKER)
  that(Number(configs['message.max.bytes']?.configValue) >= 1_000_000, 'message.max.bytes')
})

async function deleteRecords(run, topic, offset) {
  await (await admin(run)).deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
}

add('delete_records.moves_start', async run => {
  const topic = await filled(run, 10)
  await deleteRecords(run, topic, 6)
  equal(await ends(run, topic), [6, 10], 'watermarks')
  equal(at(await read(run, topic, 4)), span(6, 10), 'records')
})
add('delete_records.to_end', async run => {
  const topic = await filled(run, 10)
  await deleteRecords(run, topic, -1)
  equal(await send(run, topic, [{ value: 'later' }]), { 0: 10 }, 'placed')
  equal(at(await read(run, topic, 1)), ['10=later'], 'records')
})
add('delete_records.beyond_end', async run => {
  const topic = await filled(run, 10)
  await fails('OFFSET_OUT_OF_RANGE', deleteRecords(run, topic, 11))
  equal(at(await read(run, topic, 10)), span(0, 10), 'records left')
})
add('cluster.describe', async run => {
  const found = await (await admin(run)).describeCluster()
  that(found.clusterId, 'no cluster id')
  that(found.brokers.some(broker => broker.nodeId === found.controller), 'the controller is missing')
  that(found.brokers.some(broker => String(broker.port) === run.bootstrap.split(':').pop()), 'our broker is missing')
  equal(await create(run, await createTopic(run)), false, 'created again')
})

module.exports = { shown }
