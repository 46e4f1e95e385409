package main

import (
	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

func registerGroupAdmin() {
	h.Case("groups.list", func(r *h.Run) {
		topic := createTopic(r, 1)
		empty, living := committedGroup(r, topic, map[int32]int64{0: 3}), r.Group()
		m := join(r, living, []string{topic})
		settle(func() bool { return len(m.partitions()) == 1 }, "a member")
		found := h.Got(admin(r).ListConsumerGroups())
		_, there := found[empty]
		h.That(there, "the empty group is not listed")
		h.Equal(found[living], "consumer", "protocol type of the living group")
		h.Equal([]string{group(r, empty).State, group(r, living).State}, []string{"Empty", "Stable"}, "states")
	})
	h.Case("groups.describe", func(r *h.Run) {
		topics, id := []string{createTopic(r, 4)}, r.Group()
		named := func(name string) func(*sarama.Config) { return func(c *sarama.Config) { c.ClientID = name } }
		roundRobin := strategy(sarama.NewBalanceStrategyRoundRobin())
		one := join(r, id, topics, roundRobin, named("one"))
		two := join(r, id, topics, roundRobin, named("two"))
		settle(func() bool { return shared(one, two, topics, 4) }, "both have some")
		found := group(r, id)
		state := []string{found.State, found.ProtocolType, found.Protocol}
		h.Equal(state, []string{"Stable", "consumer", "roundrobin"}, "state")
		assigned := map[string]int{}
		for _, one := range found.Members {
			assigned[one.ClientId] = len(h.Got(one.GetMemberAssignment()).Topics[topics[0]])
		}
		h.Equal(assigned, map[string]int{"one": 2, "two": 2}, "assigned partitions")
	})
	h.Case("groups.delete", func(r *h.Run) {
		topic := createTopic(r, 1)
		id := committedGroup(r, topic, map[int32]int64{0: 3})
		h.Equal(committed(r, id, topic, 0), int64(3), "before")
		h.Must(admin(r).DeleteConsumerGroup(id))
		_, still := h.Got(admin(r).ListConsumerGroups())[id]
		h.That(!still, "still listed")
		h.Equal(committed(r, id, topic, 0), int64(-1), "after")
	})
	h.Case("groups.delete_active_refused", func(r *h.Run) {
		id := r.Group()
		m := join(r, id, []string{createTopic(r, 1)})
		settle(func() bool { return len(m.partitions()) == 1 }, "a member")
		h.Fails(admin(r).DeleteConsumerGroup(id), sarama.ErrNonEmptyGroup)
		_, still := h.Got(admin(r).ListConsumerGroups())[id]
		h.That(still, "not listed")
	})
	h.Case("groups.delete_unknown", func(r *h.Run) {
		h.Fails(admin(r).DeleteConsumerGroup(r.Group()), sarama.ErrGroupIDNotFound)
	})
	h.Case("groups.offsets_alter", func(r *h.Run) {
		topic := filled(r, 10)
		id := committedGroup(r, topic, map[int32]int64{0: 9})
		h.Must(commit(r, id, topic, map[int32]int64{0: 4}))
		h.Equal(committed(r, id, topic, 0), int64(4), "offset")
		m := join(r, id, []string{topic})
		settle(func() bool { return len(m.records()) >= 6 }, "records")
		h.Equal(at(m.records()), span(4, 10), "records")
	})
	h.Case("groups.offsets_delete", func(r *h.Run) {
		topic := createTopic(r, 2)
		id := committedGroup(r, topic, map[int32]int64{0: 3, 1: 5})
		h.Must(admin(r).DeleteConsumerGroupOffset(id, topic, 0))
		found := []int64{committed(r, id, topic, 0), committed(r, id, topic, 1)}
		h.Equal(found, []int64{-1, 5}, "offsets")
	})
}

// committedGroup is an empty group with committed offsets.
func committedGroup(r *h.Run, topic string, offsets map[int32]int64) string {
	id := r.Group()
	h.Must(commit(r, id, topic, offsets))
	return id
}

func group(r *h.Run, id string) *sarama.GroupDescription {
	found := h.Got(admin(r).DescribeConsumerGroups([]string{id}))
	h.Equal(len(found), 1, "groups described")
	h.Equal(found[0].Err, sarama.ErrNoError, "error")
	return found[0]
}
