// The functional suite of kafkajs.
require('./groups')
require('./topics')
require('./records')
require('./places')
require('./timestamps')
require('./settings')
require('./harness').main('kafkajs')
