//! Groups against their dialogues (`dialogues/*.txt`, exact outputs) and against random clients.

mod random_clients;
mod transcript;

macro_rules! dialogues {
    ($($name:ident,)*) => { $(
        #[test]
        fn $name() {
            let expected =
                include_str!(concat!("../../dialogues/", stringify!($name), ".txt"));
            let actual = transcript::replay(expected);
            assert!(actual == expected, "the dialogue went otherwise:\n{actual}");
        }
    )* };
}

dialogues! {
    a_first_member_gets_an_id_then_a_generation,
    members_join_sync_and_rebalance,
    the_initial_delay_gathers_members,
    slow_and_dead_members_are_removed,
    members_leave_until_the_group_is_empty,
    wrong_requests_are_refused,
    protocols_are_elected_and_must_be_shared,
    static_members_come_back_without_a_rebalance,
    static_members_are_fenced,
    a_generation_counts_once_it_is_recorded,
    another_coordinator_goes_on,
    offsets_are_committed_by_members,
    operators_look_and_delete,
    limits_hold,
}
