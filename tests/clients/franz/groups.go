package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

// member polls a group in a goroutine of its own and remembers what it read and how its assignment changed.
type member struct {
	client *kgo.Client
	mu     sync.Mutex
	owned  map[string]bool // "topic:partition"
	got    []*kgo.Record
	given  int // partitions ever assigned
	taken  int // partitions ever revoked or lost
	moves  int // assignments that gave something
	err    error
}

func join(r *h.Run, group string, topics []string, options ...kgo.Opt) *member {
	m := &member{owned: map[string]bool{}}
	defaults := []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.FetchMaxWait(200 * time.Millisecond), kgo.ConsumeResetOffset(start()),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(300 * time.Millisecond),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.OnPartitionsAssigned(m.onAssigned), kgo.OnPartitionsRevoked(m.onRevoked), kgo.OnPartitionsLost(m.onRevoked),
	}
	m.client = newClient(r, append(defaults, options...)...)
	go m.poll(r.Ctx)
	return m
}

func (m *member) onAssigned(_ context.Context, _ *kgo.Client, given map[string][]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.given
	for topic, partitions := range given {
		for _, partition := range partitions {
			m.owned[fmt.Sprintf("%s:%d", topic, partition)] = true
			m.given++
		}
	}
	if m.given > before {
		m.moves++
	}
}

func (m *member) onRevoked(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for topic, partitions := range taken {
		for _, partition := range partitions {
			delete(m.owned, fmt.Sprintf("%s:%d", topic, partition))
			m.taken++
		}
	}
}

func (m *member) poll(ctx context.Context) {
	for {
		fetches := m.client.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return
		}
		m.mu.Lock()
		m.got = append(m.got, fetches.Records()...)
		if err := fetches.Err(); err != nil {
			m.err = err
		}
		m.mu.Unlock()
	}
}

func (m *member) partitions() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.owned))
}

func (m *member) records() []*kgo.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.got)
}

func (m *member) counts() (given, taken, moves int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.given, m.taken, m.moves
}

func settle(check func() bool, what string) { h.Eventually(check, 25, what) }

// shared tells whether two members together have these partitions once, as many each.
func shared(one, other *member, topics []string, partitions int) bool {
	mine, theirs := one.partitions(), other.partitions()
	return len(mine) == len(theirs) && slices.Equal(slices.Sorted(slices.Values(append(mine, theirs...))), all(topics, partitions))
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
	var records []*kgo.Record
	for partition := range partitions {
		for i := range 10 {
			value := fmt.Appendf(nil, "%d-%d", partition, i)
			records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: value})
		}
	}
	return slices.Sorted(slices.Values(values(send(r, producer(r), records...))))
}

func sortedValues(members ...*member) []string {
	var found []string
	for _, m := range members {
		found = append(found, values(m.records())...)
	}
	return slices.Sorted(slices.Values(found))
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
		_, taken, _ := first.counts()
		h.That(taken > 0, "nothing was revoked")
	})
	h.Case("groups.leave_rebalances", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		long := kgo.SessionTimeout(40 * time.Second)
		stay, leave := join(r, group, topics, long), join(r, group, topics, long)
		settle(func() bool { return shared(stay, leave, topics, 4) }, "both have some")
		leave.client.Close()
		settle(func() bool { return len(stay.partitions()) == 4 }, "the first has all, long before the session timeout")
	})
	h.Case("groups.static_member_returns", staticMemberReturns)
	h.Case("groups.static_member_fenced", staticMemberFenced)
	h.Case("groups.cooperative", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		strategy := kgo.Balancers(kgo.CooperativeStickyBalancer())
		first := join(r, group, topics, strategy)
		settle(func() bool { return len(first.partitions()) == 4 }, "the first has all")
		second := join(r, group, topics, strategy)
		settle(func() bool { return shared(first, second, topics, 4) }, "both have some")
		given, taken, _ := first.counts()
		h.Equal([]int{given, taken}, []int{4, 2}, "partitions ever assigned to and revoked from the first")
	})
	h.Case("groups.eager_roundrobin", func(r *h.Run) {
		topics, group := []string{createTopic(r, 3), createTopic(r, 3)}, r.Group()
		strategy := kgo.Balancers(kgo.RoundRobinBalancer())
		one, other := join(r, group, topics, strategy), join(r, group, topics, strategy)
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
		h.Fails(tryCommit(r, group, topic, 3), kerr.UnknownMemberID)
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

// lonelyMember is the process of a member that is to be killed.
func lonelyMember(bootstrap, topic, group string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(500*time.Millisecond), kgo.Balancers(kgo.RangeBalancer()),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, given map[string][]int32) {
			fmt.Println(len(given[topic]))
		}))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // Nobody may be left to kill it.
	defer cancel()
	for ctx.Err() == nil {
		client.PollFetches(ctx)
	}
	os.Exit(0)
}

func staticMemberReturns(r *h.Run) {
	topics, group := []string{createTopic(r, 4)}, r.Group()
	long := kgo.SessionTimeout(20 * time.Second)
	stay, move := join(r, group, topics, long, kgo.InstanceID("stay")), join(r, group, topics, long, kgo.InstanceID("move"))
	settle(func() bool { return shared(stay, move, topics, 4) }, "both have some")
	before := move.partitions()
	_, _, moves := stay.counts()
	move.client.Close()
	again := join(r, group, topics, long, kgo.InstanceID("move"))
	settle(func() bool { return slices.Equal(again.partitions(), before) }, "the same partitions again")
	time.Sleep(time.Second)
	_, _, now := stay.counts()
	h.Equal(now, moves, "rebalances of the other")
}

func staticMemberFenced(r *h.Run) {
	topics, group := []string{createTopic(r, 2)}, r.Group()
	old := join(r, group, topics, kgo.InstanceID("only"))
	settle(func() bool { return len(old.partitions()) == 2 }, "the old one has all")
	fresh := join(r, group, topics, kgo.InstanceID("only"))
	settle(func() bool { return len(fresh.partitions()) == 2 }, "the new one has all")
	// The fenced client joins again under its instance id and fences back, so what is asked is that each is told.
	fenced := func(m *member) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.err != nil && strings.Contains(m.err.Error(), kerr.FencedInstanceID.Message)
	}
	settle(func() bool { return fenced(old) || fenced(fresh) }, "FENCED_INSTANCE_ID")
}
