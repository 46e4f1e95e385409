package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

// member consumes in a group and remembers what it read and how its assignment changed.
type member struct {
	group    sarama.ConsumerGroup
	cancel   context.CancelFunc
	done     chan struct{}
	mu       sync.Mutex
	owned    map[string]bool // "topic:partition"
	got      []*sarama.ConsumerMessage
	sessions int
	claims   int
	ended    int
	err      error
	markEnd  int64
}

func join(r *h.Run, group string, topics []string, changes ...func(*sarama.Config)) *member {
	m := &member{owned: map[string]bool{}, done: make(chan struct{}), markEnd: 1 << 62}
	m.group = h.Got(sarama.NewConsumerGroup([]string{r.Bootstrap}, group, settings(changes...)))
	ctx, cancel := context.WithCancel(r.Ctx)
	m.cancel = cancel
	go func() {
		for err := range m.group.Errors() {
			m.failed(err)
		}
	}()
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			if err := m.group.Consume(ctx, topics, m); err != nil {
				m.failed(err)
				if errors.Is(err, sarama.ErrFencedInstancedId) || errors.Is(err, sarama.ErrClosedConsumerGroup) {
					return
				}
			}
		}
	}()
	r.AtEnd(m.leave)
	return m
}

func (m *member) failed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// leave leaves the group as a client that closes does.
func (m *member) leave() {
	m.cancel()
	<-m.done
	_ = m.group.Close()
}

// stopMarkingAt marks no record from this offset on, so that commits stop there.
func (m *member) stopMarkingAt(offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.markEnd = offset
}

func (m *member) Setup(sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions++
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	name := fmt.Sprintf("%s:%d", claim.Topic(), claim.Partition())
	m.mu.Lock()
	m.owned[name] = true
	m.claims++
	m.mu.Unlock()
	for message := range claim.Messages() {
		m.mu.Lock()
		m.got = append(m.got, message)
		marking := message.Offset < m.markEnd
		m.mu.Unlock()
		if marking {
			session.MarkMessage(message, "")
		}
	}
	m.mu.Lock()
	delete(m.owned, name)
	m.ended++
	m.mu.Unlock()
	return nil
}

func (m *member) partitions() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.owned))
}

func (m *member) records() []*sarama.ConsumerMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.got)
}

func (m *member) counts() (sessions, claims, ended int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions, m.claims, m.ended
}

func settle(check func() bool, what string) { h.Eventually(check, 25, what) }

// shared tells whether two members together have these partitions once, as many each.
func shared(one, other *member, topics []string, partitions int) bool {
	mine, theirs := one.partitions(), other.partitions()
	together := slices.Sorted(slices.Values(append(mine, theirs...)))
	return len(mine) == len(theirs) && slices.Equal(together, all(topics, partitions))
}

func all(topics []string, partitions int) []string {
	var found []string
	for _, topic := range topics {
		for partition := range partitions {
			found = append(found, fmt.Sprintf("%s:%d", topic, partition))
		}
	}
	return slices.Sorted(slices.Values(found))
}

// fill writes ten records into each partition and returns their values, sorted.
func fill(r *h.Run, topic string, partitions int32) []string {
	var messages []*sarama.ProducerMessage
	var sent []string
	for partition := range partitions {
		for i := range 10 {
			value := fmt.Sprintf("%d-%d", partition, i)
			message := text(topic, value)
			message.Partition = partition
			messages, sent = append(messages, message), append(sent, value)
		}
	}
	send(producer(r), messages...)
	slices.Sort(sent)
	return sent
}

func sortedValues(members ...*member) []string {
	var found []string
	for _, m := range members {
		found = append(found, values(m.records())...)
	}
	slices.Sort(found)
	return found
}

func strategy(one sarama.BalanceStrategy) func(*sarama.Config) {
	return func(c *sarama.Config) {
		c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{one}
	}
}

func session(timeout time.Duration) func(*sarama.Config) {
	return func(c *sarama.Config) { c.Consumer.Group.Session.Timeout = timeout }
}

func instance(id string) func(*sarama.Config) {
	return func(c *sarama.Config) { c.Consumer.Group.InstanceId = id }
}

func registerGroups() {
	h.Case("groups.death_rebalances", deathRebalances)
	h.Case("groups.one_member", func(r *h.Run) {
		topic := createTopic(r, 3)
		sent := fill(r, topic, 3)
		m := join(r, r.Group(), []string{topic})
		settle(func() bool { return len(m.records()) == 30 }, "all records")
		h.Equal(sortedValues(m), sent, "records")
		h.Equal(m.partitions(), all([]string{topic}, 3), "assignment")
	})
	h.Case("groups.members_share", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		one, other := join(r, group, topics), join(r, group, topics)
		settle(func() bool { return shared(one, other, topics, 4) }, "an even share")
		sent := fill(r, topics[0], 4)
		settle(func() bool { return len(one.records())+len(other.records()) >= 40 }, "all records")
		h.Equal(sortedValues(one, other), sent, "records")
		h.Equal(len(one.records()), 20, "records of the first")
	})
	h.Case("groups.join_rebalances", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		first := join(r, group, topics)
		settle(func() bool { return len(first.partitions()) == 4 }, "the first has all")
		second := join(r, group, topics)
		settle(func() bool { return shared(first, second, topics, 4) }, "both have some")
		_, _, ended := first.counts()
		h.That(ended > 0, "nothing was revoked")
	})
	h.Case("groups.leave_rebalances", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		stay, leave := join(r, group, topics, session(40*time.Second)), join(r, group, topics, session(40*time.Second))
		settle(func() bool { return shared(stay, leave, topics, 4) }, "both have some")
		leave.leave()
		settle(func() bool { return len(stay.partitions()) == 4 }, "the first has all, long before the session timeout")
	})
	h.Case("groups.static_member_returns", staticMemberReturns)
	h.Case("groups.static_member_fenced", func(r *h.Run) {
		topics, group := []string{createTopic(r, 2)}, r.Group()
		old := join(r, group, topics, instance("only"))
		settle(func() bool { return len(old.partitions()) == 2 }, "the old one has all")
		fresh := join(r, group, topics, instance("only"))
		settle(func() bool { return len(fresh.partitions()) == 2 }, "the new one has all")
		settle(func() bool {
			old.mu.Lock()
			defer old.mu.Unlock()
			return errors.Is(old.err, sarama.ErrFencedInstancedId)
		}, "FENCED_INSTANCE_ID of the old one")
	})
	h.Case("groups.cooperative", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		first := join(r, group, topics, strategy(sarama.NewBalanceStrategyCooperativeSticky()))
		settle(func() bool { return len(first.partitions()) == 4 }, "the first has all")
		second := join(r, group, topics, strategy(sarama.NewBalanceStrategyCooperativeSticky()))
		settle(func() bool { return shared(first, second, topics, 4) }, "both have some")
		sessions, claims, ended := first.counts()
		h.Equal([]int{sessions, claims, ended}, []int{1, 4, 2}, "sessions, claims and ended claims of the first")
	})
	h.Case("groups.eager_roundrobin", func(r *h.Run) {
		topics, group := []string{createTopic(r, 3), createTopic(r, 3)}, r.Group()
		one := join(r, group, topics, strategy(sarama.NewBalanceStrategyRoundRobin()))
		other := join(r, group, topics, strategy(sarama.NewBalanceStrategyRoundRobin()))
		settle(func() bool { return shared(one, other, topics, 3) }, "three partitions each")
	})
	h.Case("groups.two_groups", func(r *h.Run) {
		topic := createTopic(r, 2)
		sent := fill(r, topic, 2)
		one, other := join(r, r.Group(), []string{topic}), join(r, r.Group(), []string{topic})
		settle(func() bool { return len(one.records()) == 20 && len(other.records()) == 20 }, "all records in both")
		h.Equal(sortedValues(one), sent, "records of one")
		h.Equal(sortedValues(other), sent, "records of the other")
	})
	h.Case("groups.commit_by_outsider_refused", func(r *h.Run) {
		topic, group := createTopic(r, 1), r.Group()
		m := join(r, group, []string{topic})
		settle(func() bool { return len(m.partitions()) == 1 }, "a member")
		h.Fails(commit(r, group, topic, map[int32]int64{0: 3}), sarama.ErrUnknownMemberId)
	})
}

func deathRebalances(r *h.Run) {
	topics, group := []string{createTopic(r, 4)}, r.Group()
	doomed := exec.Command(h.Got(os.Executable()), "member", r.Bootstrap, topics[0], group)
	said := bufio.NewReader(h.Got(doomed.StdoutPipe()))
	h.Must(doomed.Start())
	r.AtEnd(func() { _ = doomed.Process.Kill() })
	h.Equal(strings.TrimSpace(h.Got(said.ReadString('\n'))), "4", "partitions of the doomed member")
	heir := join(r, group, topics)
	settle(func() bool { return len(heir.partitions()) == 2 }, "both have some")
	killed := time.Now()
	h.Must(doomed.Process.Kill())
	settle(func() bool { return len(heir.partitions()) == 4 }, "the heir has all")
	h.That(time.Since(killed) > 3*time.Second, "the dead member was gone before its session could end")
}

// lonely is the process of a member that is to be killed.
type lonely struct{}

func (lonely) Setup(s sarama.ConsumerGroupSession) error {
	for _, partitions := range s.Claims() {
		fmt.Println(len(partitions))
	}
	return nil
}

func (lonely) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (lonely) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for range claim.Messages() {
		continue
	}
	return nil
}

func lonelyMember(bootstrap, topic, group string) {
	member, err := sarama.NewConsumerGroup([]string{bootstrap}, group, settings())
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // Nobody may be left to kill it.
	defer cancel()
	for ctx.Err() == nil {
		_ = member.Consume(ctx, []string{topic}, lonely{})
	}
	os.Exit(0)
}

func staticMemberReturns(r *h.Run) {
	topics, group := []string{createTopic(r, 4)}, r.Group()
	long := session(20 * time.Second)
	stay, move := join(r, group, topics, long, instance("stay")), join(r, group, topics, long, instance("move"))
	settle(func() bool { return shared(stay, move, topics, 4) }, "both have some")
	before := move.partitions()
	sessions, _, _ := stay.counts()
	move.leave()
	again := join(r, group, topics, long, instance("move"))
	settle(func() bool { return slices.Equal(again.partitions(), before) }, "the same partitions again")
	time.Sleep(time.Second)
	now, _, _ := stay.counts()
	h.Equal(now, sessions, "sessions of the other")
}
