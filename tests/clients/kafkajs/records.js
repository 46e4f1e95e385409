// What a record carries, codecs, acks, idempotence, sizes.
const { CompressionTypes } = require('kafkajs')
const { add, equal, fails, that } = require('./harness')
const { at, createTopic, numbered, producer, read, send, span, values } = require('./kit')

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

async function throughCodecs(run, each, ...codecs) {
  const topic = await createTopic(run)
  const sent = []
  for (const codec of codecs) {
    const batch = Array.from({ length: each }, (_, i) => `${codec} ${i} `.repeat(20))
    await send(run, topic, batch.map(value => ({ value })), { compression: CODECS[codec] })
    sent.push(...batch)
  }
  equal(values(await read(run, topic, sent.length)), sent, 'records')
}

for (const codec of Object.keys(CODECS)) add(`codecs.${codec}`, run => throughCodecs(run, 200, codec))
add('codecs.mixed', run => throughCodecs(run, 20, 'gzip', 'none', 'zstd', 'lz4', 'snappy', 'gzip'))

async function idempotent(run, bootstrap) {
  const topic = await createTopic(run)
  const retry = { initialRetryTime: 20, maxRetryTime: 200, retries: 50 }
  const client = await producer(run, { bootstrap, idempotent: true, maxInFlightRequests: 1, retry })
  const sent = numbered(1000)
  for (let i = 0; i < 1000; i += 20) {
    const [placed] = await client.send({ topic, messages: sent.slice(i, i + 20), acks: -1 })
    equal(Number(placed.baseOffset), i, 'offset')
  }
  equal(at(await read(run, topic, 1000)), span(0, 1000), 'records')
}

add('idempotence.in_order_once', run => idempotent(run, run.bootstrap))
add('idempotence.retries_once', run => idempotent(run, run.flaky))

async function roundTrip(run, key, value, headers = {}) {
  const topic = await createTopic(run)
  await send(run, topic, [{ key, value, headers }])
  const [got] = await read(run, topic, 1)
  equal(got.key, key === null ? null : Buffer.from(key), 'key')
  that(value === null ? got.value === null : got.value.equals(Buffer.from(value)), `value differs: ${got.value}`)
  return got.headers
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
const large = (size, step) => Buffer.from(Array.from({ length: size }, (_, i) => (i * step) % 251))

add('records.key_and_value', run => roundTrip(run, 'ключ 钥匙', 'valeur, 值, τιμή 🦀'))
add('records.binary', run => roundTrip(run, everyByte, everyByte))
add('records.null_key', run => roundTrip(run, null, 'v'))
add('records.tombstone', run => roundTrip(run, 'k', null))
add('records.empty_is_not_null', run => roundTrip(run, '', ''))
add('records.headers', async run => {
  const got = await roundTrip(run, null, 'v', { b: ['1', '2'], a: '', ключ: everyByte })
  const expected = { b: [Buffer.from('1'), Buffer.from('2')], a: Buffer.from(''), ключ: everyByte }
  equal({ ...got }, expected, 'headers')
})

async function withAcks(run, acks) {
  const topic = await createTopic(run)
  const placed = await send(run, topic, numbered(50), { acks })
  equal(at(await read(run, topic, 50)), span(0, 50), 'records')
  return placed
}

add('acks.zero', run => withAcks(run, 0))
add('acks.one', async run => equal(await withAcks(run, 1), { 0: 0 }, 'acknowledged'))
add('acks.all', async run => equal(await withAcks(run, -1), { 0: 0 }, 'acknowledged'))
add('large.near_limit', run => roundTrip(run, null, large(900_000, 7)))
add('large.over_limit', async run => {
  const topic = await createTopic(run)
  await fails('MESSAGE_TOO_LARGE', send(run, topic, [{ value: large(2_000_000, 3) }]))
  equal(await send(run, topic, [{ value: 'small' }]), { 0: 0 }, 'placed')
  equal(at(await read(run, topic, 1)), ['0=small'], 'records')
})
add('large.topic_limit', async run => {
  const topic = await createTopic(run, 1, { 'max.message.bytes': 50000 })
  await fails('MESSAGE_TOO_LARGE', send(run, topic, [{ value: large(60_000, 3) }]))
  await send(run, topic, [{ value: 'y'.repeat(40_000) }])
  equal(values(await read(run, topic, 1)), ['y'.repeat(40_000)], 'records')
})
add('large.above_fetch_limit', async run => {
  const topic = await createTopic(run)
  for (let i = 1; i <= 5; i++) await send(run, topic, [{ value: large(300_000, i) }])
  const got = await read(run, topic, 5, { maxBytesPerPartition: 1000, maxBytes: 1000 })
  got.forEach((message, i) => that(message.value.equals(large(300_000, i + 1)), `record ${i} differs`))
})

module.exports = { CODECS, large }
