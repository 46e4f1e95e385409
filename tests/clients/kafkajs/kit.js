// How the cases make clients, write and read.
const { Kafka, CompressionCodecs, CompressionTypes, Partitioners, logLevel } = require('kafkajs')
const SnappyCodec = require('kafkajs-snappy')
const lz4 = require('lz4-napi')
const { ZstdCodec } = require('zstd-codec')
const { equal, eventually, sleep, that } = require('./harness')

// kafkajs brings gzip and takes the other codecs as plug-ins.
CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4.compressFrame(encoder.buffer),
  decompress: async buffer => lz4.decompressFrame(buffer),
})
const zstd = new Promise(resolve => ZstdCodec.run(library => resolve(new library.Simple())))
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async buffer => Buffer.from((await zstd).decompress(buffer)),
})

const QUICK = { initialRetryTime: 50, retries: 10 }

function kafka(run, bootstrap = run.bootstrap, clientId = 'suite') {
  return new Kafka({ clientId, brokers: [bootstrap], logLevel: logLevel.NOTHING, retry: QUICK, connectionTimeout: 5000 })
}

async function admin(run) {
  if (!run.shared.admin) {
    run.shared.admin = kafka(run).admin({ retry: { initialRetryTime: 50, retries: 3 } })
    run.atEnd(() => run.shared.admin.disconnect())
    await run.shared.admin.connect()
  }
  return run.shared.admin
}

async function create(run, topic, partitions = 1, configs = {}, more = {}) {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value: String(value) }))
  const topics = [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }]
  return (await admin(run)).createTopics({ topics, waitForLeaders: false, timeout: 15000, ...more })
}

async function createTopic(run, partitions = 1, configs = {}, topic = run.topic()) {
  equal(await create(run, topic, partitions, configs), true, 'created')
  // A broker may answer before all of it knows the topic.
  await eventually(async () => (await readyPartitions(run, topic)).length === partitions, 'partitions in the metadata', 15)
  return topic
}

async function names(run) {
  return (await admin(run)).listTopics()
}

async function readyPartitions(run, topic) {
  if (!(await names(run)).includes(topic)) return []
  const { topics } = await (await admin(run)).fetchTopicMetadata({ topics: [topic] })
  return topics[0].partitions.filter(p => p.leader >= 0 && p.partitionErrorCode === 0).map(p => p.partitionId)
}

async function producer(run, options = {}) {
  const { bootstrap, ...rest } = options
  const client = kafka(run, bootstrap).producer({ createPartitioner: Partitioners.DefaultPartitioner, ...rest })
  run.atEnd(() => client.disconnect())
  await client.connect()
  return client
}

// Sends messages as one batch per partition, and returns the base offsets by partition.
async function send(run, topic, messages, options = {}, producerOptions = {}) {
  const client = await producer(run, producerOptions)
  const placed = await client.send({ topic, messages, ...options })
  return Object.fromEntries(placed.map(p => [p.partition, Number(p.baseOffset)]))
}

function numbered(count, fields = {}) {
  return Array.from({ length: count }, (_, i) => ({ value: String(i), partition: 0, ...fields }))
}

// Joins a group with one member, which remembers what it reads.
async function join(run, topics, options = {}) {
  const { group = run.group(), fromBeginning = true, clientId, runOptions = {}, ...rest } = options
  const client = kafka(run, run.bootstrap, clientId).consumer({
    groupId: group,
    sessionTimeout: 6000,
    heartbeatInterval: 300,
    rebalanceTimeout: 10000,
    maxWaitTimeInMs: 200,
    ...rest,
  })
  const member = { client, group, got: [], assigned: {}, joins: 0, fetches: 0, crashed: null }
  client.on(client.events.GROUP_JOIN, event => {
    member.assigned = event.payload.memberAssignment
    member.joins += 1
  })
  client.on(client.events.FETCH_START, () => (member.fetches += 1))
  client.on(client.events.CRASH, event => (member.crashed = event.payload.error))
  member.leave = async () => {
    await client.disconnect()
    member.assigned = {}
  }
  member.partitions = () =>
    Object.entries(member.assigned).flatMap(([topic, partitions]) => partitions.map(p => `${topic}:${p}`)).sort()
  run.atEnd(() => client.disconnect())
  await client.connect()
  await client.subscribe({ topics: [].concat(topics), fromBeginning })
  await client.run({
    eachMessage: async ({ topic, partition, message }) => void member.got.push({ topic, partition, ...message }),
    ...runOptions,
  })
  return member
}

async function take(member, count, seconds = 20) {
  await eventually(() => member.got.length >= count, `${count} records`, seconds).catch(error => {
    throw new Error(`${error.message}, got ${member.got.length}`)
  })
  return member.got.splice(0, count)
}

async function nothing(member, ms) {
  await sleep(ms)
  that(member.got.length === 0, `unexpected record ${member.got[0]?.value} at ${member.got[0]?.offset}`)
}

// All records of a topic, which must be exactly this many.
async function read(run, topic, count, options = {}) {
  const member = await join(run, topic, options)
  const got = await take(member, count)
  await nothing(member, 300)
  await member.leave()
  return got.sort((a, b) => a.partition - b.partition || Number(a.offset) - Number(b.offset))
}

const text = bytes => (bytes === null ? null : bytes.toString())
const values = messages => messages.map(message => text(message.value))
const at = messages => messages.map(message => `${message.offset}=${text(message.value)}`)
const span = (from, to) => Array.from({ length: to - from }, (_, i) => `${from + i}=${from + i}`)

module.exports = {
  admin, at, create, createTopic, join, kafka, names, nothing, numbered, producer, read, readyPartitions, send, span,
  take, text, values,
}
