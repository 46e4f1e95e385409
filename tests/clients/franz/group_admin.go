package main

import (
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

func registerGroupAdmin() {
	h.Case("groups.list", func(r *h.Run) {
		topic := createTopic(r, 1)
		empty, living := committedGroup(r, topic, map[int32]int64{0: 3}), r.Group()
		m := join(r, living, []string{topic})
		settle(func() bool { return len(m.partitions()) == 1 }, "a member")
		found := h.Got(admin(r).ListGroups(r.Ctx))
		h.Equal([]string{found[empty].State, found[living].State}, []string{"Empty", "Stable"}, "states")
		h.Equal(found[living].ProtocolType, "consumer", "protocol type")
	})
	h.Case("groups.describe", func(r *h.Run) {
		topics, group := []string{createTopic(r, 4)}, r.Group()
		strategy := kgo.Balancers(kgo.RoundRobinBalancer())
		one := join(r, group, topics, strategy, kgo.ClientID("one"))
		two := join(r, group, topics, strategy, kgo.ClientID("two"))
		settle(func() bool { return shared(one, two, topics, 4) }, "both have some")
		found := h.Got(admin(r).DescribeGroups(r.Ctx, group))[group]
		h.Must(found.Err)
		h.Equal([]string{found.State, found.ProtocolType, found.Protocol}, []string{"Stable", "consumer", "roundrobin"}, "state")
		h.That(found.Coordinator.Port > 0, "no coordinator")
		assigned := map[string]int{}
		for _, m := range found.Members {
			plan, ok := m.Assigned.AsConsumer()
			h.That(ok && len(plan.Topics) == 1, "assignment of %s", m.ClientID)
			assigned[m.ClientID] = len(plan.Topics[0].Partitions)
		}
		h.Equal(assigned, map[string]int{"one": 2, "two": 2}, "assigned partitions")
		h.Equal(len(found.AssignedPartitions()[topics[0]]), 4, "assigned partitions in all")
	})
	h.Case("groups.delete", func(r *h.Run) {
		topic := createTopic(r, 1)
		group := committedGroup(r, topic, map[int32]int64{0: 3})
		h.Equal(committed(r, group, topic), map[int32]int64{0: 3}, "before")
		h.Must(deleteGroup(r, group))
		_, still := h.Got(admin(r).ListGroups(r.Ctx))[group]
		h.That(!still, "still listed")
		h.Equal(committed(r, group, topic), map[int32]int64{}, "after")
	})
	h.Case("groups.delete_active_refused", func(r *h.Run) {
		group := r.Group()
		m := join(r, group, []string{createTopic(r, 1)})
		settle(func() bool { return len(m.partitions()) == 1 }, "a member")
		h.Fails(deleteGroup(r, group), kerr.NonEmptyGroup)
		_, still := h.Got(admin(r).ListGroups(r.Ctx))[group]
		h.That(still, "not listed")
	})
	h.Case("groups.delete_unknown", func(r *h.Run) { h.Fails(deleteGroup(r, r.Group()), kerr.GroupIDNotFound) })
	h.Case("groups.offsets_alter", func(r *h.Run) {
		topic := filled(r, 10)
		group := committedGroup(r, topic, map[int32]int64{0: 9})
		commit(r, group, topic, map[int32]int64{0: 4})
		h.Equal(committed(r, group, topic), map[int32]int64{0: 4}, "offsets")
		h.Equal(at(take(r, groupReader(r, group, topic), 6)), span(4, 10), "records")
	})
	h.Case("groups.offsets_delete", func(r *h.Run) {
		topic := createTopic(r, 2)
		group := committedGroup(r, topic, map[int32]int64{0: 3, 1: 5})
		set := kadm.TopicsSet{}
		set.Add(topic, 0)
		h.Must(h.Got(admin(r).DeleteOffsets(r.Ctx, group, set))[topic][0])
		h.Equal(committed(r, group, topic), map[int32]int64{1: 5}, "offsets")
	})
}

// committedGroup is an empty group with committed offsets.
func committedGroup(r *h.Run, topic string, offsets map[int32]int64) string {
	group := r.Group()
	commit(r, group, topic, offsets)
	return group
}

func deleteGroup(r *h.Run, group string) error {
	_, err := admin(r).DeleteGroup(r.Ctx, group)
	return err
}

// tryCommit commits partition 0 as no member of the group.
func tryCommit(r *h.Run, group, topic string, offset int64) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, offset, -1)
	return admin(r).CommitAllOffsets(r.Ctx, group, offsets)
}
