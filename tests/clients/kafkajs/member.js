// A group member in a process of its own, to be killed: member.js BOOTSTRAP TOPIC GROUP.
const { Kafka, logLevel } = require('kafkajs')

async function main([bootstrap, topic, groupId]) {
  const consumer = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING }).consumer({
    groupId,
    sessionTimeout: 6000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 200,
  })
  consumer.on(consumer.events.GROUP_JOIN, event => console.log(event.payload.memberAssignment[topic]?.length))
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({ eachMessage: async () => {} })
}

setTimeout(() => process.exit(0), 60_000) // Nobody may be left to kill it.
main(process.argv.slice(2))
