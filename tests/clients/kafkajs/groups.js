// Members of consumer groups, and what an admin does with groups.
const path = require('node:path')
const { spawn } = require('node:child_process')
const { AssignerProtocol } = require('kafkajs')
const { add, equal, eventually, fails, that } = require('./harness')
const { admin, at, createTopic, join, send, span, take, values } = require('./kit')
const { commit, committed, filled } = require('./places')

const everything = (topics, partitions) =>
  topics.flatMap(topic => Array.from({ length: partitions }, (_, p) => `${topic}:${p}`)).sort()

// Whether two members together have these partitions once, as many each.
function shared(one, other, topics, partitions) {
  const [mine, theirs] = [one.partitions(), other.partitions()]
  return mine.length === theirs.length && [...mine, ...theirs].sort().join() === everything(topics, partitions).join()
}

// Ten records in each partition, and their values, sorted.
async function fill(run, topic, partitions) {
  const messages = Array.from({ length: partitions * 10 }, (_, i) => ({
    value: `${i % partitions}-${Math.floor(i / partitions)}`,
    partition: i % partitions,
  }))
  await send(run, topic, messages)
  return messages.map(m => m.value).sort()
}

const sortedValues = (...members) => members.flatMap(m => values(m.got)).sort()

async function pair(run, topics, options = {}) {
  const group = run.group()
  const members = await Promise.all(['one', 'two'].map(clientId => join(run, topics, { group, clientId, ...options })))
  return [...members, group]
}

add('groups.death_rebalances', async run => {
  const [topic, group] = [await createTopic(run, 4), run.group()]
  const program = path.join(__dirname, 'member.js')
  const doomed = spawn(process.execPath, [program, run.bootstrap, topic, group], { stdio: ['ignore', 'pipe', 'ignore'] })
  run.atEnd(async () => doomed.kill('SIGKILL'))
  let said = ''
  doomed.stdout.on('data', data => (said += data))
  await eventually(() => said.includes('\n'), 'the doomed member')
  equal(said.trim(), '4', 'partitions of the doomed member')
  const heir = await join(run, topic, { group })
  await eventually(() => heir.partitions().length === 2, 'both have some')
  const killed = Date.now()
  doomed.kill('SIGKILL')
  await eventually(() => heir.partitions().length === 4, 'the heir has all')
  that(Date.now() - killed > 3000, 'the dead member was gone before its session could end')
})
add('groups.one_member', async run => {
  const topic = await createTopic(run, 3)
  const sent = await fill(run, topic, 3)
  const member = await join(run, topic)
  await eventually(() => member.got.length === 30, 'all records')
  equal(sortedValues(member), sent, 'records')
  equal(member.partitions(), everything([topic], 3), 'assignment')
})
add('groups.members_share', async run => {
  const topic = await createTopic(run, 4)
  const [one, other] = await pair(run, topic)
  await eventually(() => shared(one, other, [topic], 4), 'an even share')
  const sent = await fill(run, topic, 4)
  await eventually(() => one.got.length + other.got.length >= 40, 'all records')
  equal(sortedValues(one, other), sent, 'records')
  equal(one.got.length, 20, 'records of the first')
})
add('groups.join_rebalances', async run => {
  const [topic, group] = [await createTopic(run, 4), run.group()]
  const first = await join(run, topic, { group })
  await eventually(() => first.partitions().length === 4, 'the first has all')
  const second = await join(run, topic, { group })
  await eventually(() => shared(first, second, [topic], 4), 'both have some')
  that(first.joins > 1, 'the first did not join again')
})
add('groups.leave_rebalances', async run => {
  const topic = await createTopic(run, 4)
  const [stay, leave] = await pair(run, topic, { sessionTimeout: 40000 })
  await eventually(() => shared(stay, leave, [topic], 4), 'both have some')
  await leave.leave()
  await eventually(() => stay.partitions().length === 4, 'the first has all, long before the session timeout')
})
add('groups.eager_roundrobin', async run => {
  const topics = [await createTopic(run, 3), await createTopic(run, 3)]
  const [one, other] = await pair(run, topics) // Round robin is what kafkajs has.
  await eventually(() => shared(one, other, topics, 3), 'three partitions each')
})
add('groups.two_groups', async run => {
  const topic = await createTopic(run, 2)
  const sent = await fill(run, topic, 2)
  const [one, other] = [await join(run, topic), await join(run, topic)]
  await eventually(() => one.got.length === 20 && other.got.length === 20, 'all records in both')
  equal(sortedValues(one), sent, 'records of one')
  equal(sortedValues(other), sent, 'records of the other')
})
add('groups.list', async run => {
  const topic = await createTopic(run)
  const empty = run.group()
  await commit(run, empty, topic, { 0: 3 })
  const member = await join(run, topic)
  await eventually(() => member.partitions().length === 1, 'a member')
  const { groups } = await (await admin(run)).listGroups()
  that(groups.some(g => g.groupId === empty), 'the empty group is not listed')
  equal(groups.find(g => g.groupId === member.group)?.protocolType, 'consumer', 'protocol type')
})
add('groups.describe', async run => {
  const topic = await createTopic(run, 4)
  const [one, two, group] = await pair(run, topic)
  await eventually(() => shared(one, two, [topic], 4), 'both have some')
  const { groups } = await (await admin(run)).describeGroups([group])
  const { state, protocol, protocolType, members } = groups[0]
  equal([state, protocol, protocolType], ['Stable', 'RoundRobinAssigner', 'consumer'], 'state')
  const assigned = {}
  for (const m of members) {
    const { assignment } = AssignerProtocol.MemberAssignment.decode(m.memberAssignment)
    assigned[m.clientId] = assignment[topic].map(p => `${topic}:${p}`).sort()
  }
  equal(assigned, { one: one.partitions(), two: two.partitions() }, 'assignments')
})
add('groups.delete', async run => {
  const topic = await createTopic(run)
  const group = run.group()
  await commit(run, group, topic, { 0: 3 })
  equal(await committed(run, group, topic), { 0: 3 }, 'before')
  await (await admin(run)).deleteGroups([group])
  const { groups } = await (await admin(run)).listGroups()
  that(!groups.some(g => g.groupId === group), 'still listed')
  equal(await committed(run, group, topic), { 0: -1 }, 'after')
})
add('groups.delete_active_refused', async run => {
  const member = await join(run, await createTopic(run))
  await eventually(() => member.partitions().length === 1, 'a member')
  await fails('NON_EMPTY_GROUP', (await admin(run)).deleteGroups([member.group]))
  const { groups } = await (await admin(run)).listGroups()
  that(groups.some(g => g.groupId === member.group), 'not listed')
})
add('groups.delete_unknown', async run => fails('GROUP_ID_NOT_FOUND', (await admin(run)).deleteGroups([run.group()])))
add('groups.offsets_alter', async run => {
  const topic = await filled(run, 10)
  const group = run.group()
  await commit(run, group, topic, { 0: 9 })
  await commit(run, group, topic, { 0: 4 })
  equal(await committed(run, group, topic), { 0: 4 }, 'offsets')
  equal(at(await take(await join(run, topic, { group }), 6)), span(4, 10), 'records')
})
