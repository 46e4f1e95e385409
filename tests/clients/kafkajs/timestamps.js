// Timestamps and lookups by them.
const { add, equal, that } = require('./harness')
const { admin, createTopic, read, send } = require('./kit')
const { CODECS, large } = require('./records')

const UNSORTED = [10, 50, 20, 40, 30]
const base = () => Date.now() - 3_600_000
const steps = (count, step) => Array.from({ length: count }, (_, i) => i * step)

// Each inner list of timestamps, relative to `start`, is one batch.
async function write(run, topic, start, batches, options = {}) {
  for (const stamps of batches) {
    await send(run, topic, stamps.map(t => ({ value: String(t), partition: 0, timestamp: String(start + t) })), options)
  }
}

// Expects the offset for each time relative to `start`. kafkajs answers the end offset where nothing is found.
async function lookups(run, topic, start, expected) {
  const client = await admin(run)
  const found = {}
  for (const after of Object.keys(expected)) {
    const [partition] = await client.fetchTopicOffsetsByTimestamp(topic, start + Number(after))
    found[after] = Number(partition.offset)
  }
  equal(found, expected, 'lookups')
}

add('timestamps.create_time', async run => {
  const topic = await createTopic(run, 1, { 'retention.ms': -1 }) // The record is old enough to be deleted otherwise.
  await send(run, topic, [{ value: 'x', timestamp: '1600000000123' }])
  equal((await read(run, topic, 1))[0].timestamp, '1600000000123', 'timestamp')
})
add('timestamps.unsorted', async run => {
  const [topic, start] = [await createTopic(run), base()]
  await write(run, topic, start, UNSORTED.map(t => [t]))
  await lookups(run, topic, start, { 0: 0, 10: 0, 11: 1, 25: 1, 45: 1, 50: 1, 51: 5 })
})
add('timestamps.inside_compressed_batch', async run => {
  const [topic, start] = [await createTopic(run), base()]
  await write(run, topic, start, [steps(50, 10)], { compression: CODECS.gzip })
  await write(run, topic, start, [UNSORTED.map(t => 1000 + t)], { compression: CODECS.lz4 })
  await lookups(run, topic, start, { 0: 0, 1: 1, 250: 25, 255: 26, 490: 49, 491: 50, 1011: 51, 1045: 51, 1051: 55 })
})
add('timestamps.across_batches', async run => {
  const [topic, start] = [await createTopic(run), base()]
  await write(run, topic, start, steps(100, 100).map(t => [t]))
  await lookups(run, topic, start, { 50: 1, 3250: 33, 4950: 50, 9750: 98, 9850: 99, 9901: 100 })
})
add('timestamps.across_files', async run => {
  const [topic, start, value] = [await createTopic(run), base(), large(400_000, 31)]
  const expected = { 44001: 45 }
  for (let i = 0; i < 45; i++) {
    await send(run, topic, [{ value, timestamp: String(start + i * 1000) }])
    if (i > 0) expected[i * 1000 - 1] = i
  }
  await lookups(run, topic, start, expected)
})
add('timestamps.beyond_end', async run => {
  const [topic, start] = [await createTopic(run), base()]
  await write(run, topic, start, [[0], [5]])
  await lookups(run, topic, start, { 5: 1, 6: 2, 10000000: 2 })
})
add('timestamps.log_append_time', async run => {
  const topic = await createTopic(run, 1, { 'message.timestamp.type': 'LogAppendTime' })
  await send(run, topic, [{ value: 'x', timestamp: '1600000000000' }])
  const stamp = Number((await read(run, topic, 1))[0].timestamp)
  that(Math.abs(Date.now() - stamp) < 10000, `timestamp ${stamp}`)
})
