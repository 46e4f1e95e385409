// Runs registered cases, each under a time limit and several at a time, and prints one JSON line per case.
const assert = require('node:assert')
const { parseArgs } = require('node:util')
const { randomBytes } = require('node:crypto')

const cases = new Map()

function add(name, body) {
  assert(!cases.has(name), `${name} is there twice`)
  cases.set(name, body)
}

// What a case is given: where the broker is, names nobody else uses, and clean-up at its end.
class Run {
  constructor(client, name, options) {
    this.bootstrap = options.bootstrap
    this.flaky = options.flaky
    this.prefix = `${client}-${name.replaceAll('_', '-')}`
    this.cleanups = []
    this.shared = {}
  }

  topic() {
    return `${this.prefix}-${randomBytes(4).toString('hex')}`
  }

  group() {
    return `g-${this.topic()}`
  }

  atEnd(action) {
    this.cleanups.unshift(action)
  }

  async cleanUp() {
    for (const action of this.cleanups) {
      try {
        await Promise.race([action(), sleep(3000)])
      } catch {
        // The case has its verdict already.
      }
    }
  }
}

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function equal(actual, expected, what = 'value') {
  try {
    assert.deepStrictEqual(actual, expected)
  } catch {
    throw new Error(`${what}: got ${shorten(actual)}, expected ${shorten(expected)}`)
  }
}

function that(truth, what) {
  if (!truth) throw new Error(what)
}

function shorten(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? String(value)
  return text.length <= 300 ? text : `${text.slice(0, 300)}... (${text.length} characters)`
}

// Demands an error of this Kafka type, bare or inside another.
async function fails(type, promise) {
  let outcome
  try {
    outcome = await promise
  } catch (error) {
    const seen = []
    const queue = [error]
    while (queue.length) {
      const one = queue.shift()
      if (!one || seen.includes(one)) continue
      seen.push(one)
      const parts = [one.errors, one.groups, one.partitions].flatMap(list => (Array.isArray(list) ? list : []))
      queue.push(one.cause, one.originalError, one.error, ...parts)
    }
    if (seen.some(one => one.type === type || one.name === type)) return
    throw new Error(`got ${error.name} ${error.type ?? ''} ${error.message}, expected ${type}`)
  }
  throw new Error(`no error, expected ${type}: got ${shorten(outcome)}`)
}

async function eventually(check, what, seconds = 25) {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const result = await check()
    if (result) return result
    if (Date.now() > deadline) throw new Error(`not within ${seconds} s: ${what}`)
    await sleep(30)
  }
}

async function execute(client, name, options) {
  const run = new Run(client, name, options)
  const started = Date.now()
  const outcome = { client, case: name, status: 'pass', seconds: 0, detail: '' }
  let timer
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end in ${options.timeout} s`)), options.timeout * 1000)
  })
  try {
    await Promise.race([cases.get(name)(run), limit])
  } catch (error) {
    outcome.status = 'fail'
    const place = (error.stack ?? '').split('\n').filter(line => /\/\w+\.js:\d+/.test(line) && !/node_modules|harness/.test(line))
    const short = place.slice(0, 3).map(line => line.match(/(\w+\.js:\d+)/)[1]).join(' < ')
    outcome.detail = `${shorten(`${error.name}: ${error.message}`)} at ${short}`
  }
  clearTimeout(timer)
  outcome.seconds = (Date.now() - started) / 1000
  console.log(JSON.stringify(outcome))
  await run.cleanUp()
}

async function main(client) {
  const { values: options } = parseArgs({
    options: {
      bootstrap: { type: 'string' },
      flaky: { type: 'string', default: '' },
      case: { type: 'string', multiple: true },
      timeout: { type: 'string', default: '60' },
      parallel: { type: 'string', default: '4' },
    },
  })
  options.timeout = Number(options.timeout)
  // kafkajs leaves rejections of clients that were stopped in mid-flight to nobody.
  process.on('unhandledRejection', () => {})
  const names = [...cases.keys()].filter(name => !options.case || options.case.includes(name))
  console.log(JSON.stringify({ client, plan: names }))
  const lane = async () => {
    while (names.length) await execute(client, names.shift(), options)
  }
  await Promise.all(Array.from({ length: Number(options.parallel) }, lane))
  process.exit(0)
}

module.exports = { add, equal, eventually, fails, main, sleep, that }
