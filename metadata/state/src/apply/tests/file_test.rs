//! Files: sealing, garbage, forgetting; log starts; the plans of retention and garbage.

use tidemill_base::{AppliedIndex, BatchOutcome, Offset, TimestampMs};

use crate::command::{
    AlterConfigs, ConfigChange, ConfigOperation, ConfigResource, DeleteTopic, FenceBroker,
    ForgetFiles, LogStartAdvance, SealFile,
};
use crate::event::Event;
use crate::files::Freed;
use crate::harness::{BATCH_BYTES, BROKER, Harness, batch};
use crate::outcome::{LogStartOutcome, Outcome};
use crate::plan::{garbage, retention};
use crate::refusal::Refusal;

fn seal(cluster: &mut Harness) -> Outcome {
    let (file, length) = (cluster.file_id(cluster.file), cluster.position);
    cluster.file += 1;
    cluster.position = 0;
    cluster.apply(SealFile { file, length })
}

#[test]
fn a_sealed_file_is_garbage_once_nothing_refers_to_it() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 5)]);
    cluster.commit(vec![batch(p, 5)]);
    let file = cluster.file_id(1);
    let view = cluster.state.file(&file).expect("it is known");
    assert_eq!((view.length, view.live_bytes, view.references), (328, 200, 2));
    assert_eq!(cluster.state.dead_bytes(), 128);
    assert_eq!(seal(&mut cluster), Outcome::Done);
    cluster.advance(p, Some(9));
    let view = cluster.state.file(&file).expect("it is known");
    assert_eq!((view.live_bytes, view.freed), (100, None));
    cluster.now.0 += 7;
    cluster.advance(p, Some(10));
    assert_eq!(
        cluster.events(),
        [
            Event::LogStartAdvanced { partition: p, log_start: Offset(10) },
            Event::FileUnreachable { file, at: cluster.now },
        ]
    );
    let freed = Freed { at: cluster.now, by: cluster.state.applied_index() };
    assert_eq!(cluster.state.file(&file).and_then(|view| view.freed), Some(freed));
}

#[test]
fn an_open_file_is_never_garbage() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 5)]);
    cluster.advance(p, None);
    let file = cluster.file_id(1);
    assert_eq!(
        cluster.state.file(&file).map(|view| (view.references, view.freed)),
        Some((0, None))
    );
    seal(&mut cluster);
    assert_eq!(cluster.events(), [Event::FileUnreachable { file, at: cluster.now }]);
    cluster.apply(SealFile { file, length: 5 });
    assert_eq!(cluster.events(), [], "it is freed once");
}

#[test]
fn an_object_of_a_sealed_or_deleted_file_is_refused() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let late = cluster.next_object(vec![batch(p, 1)]);
    let file = cluster.file_id(1);
    seal(&mut cluster);
    assert_eq!(cluster.apply(late.clone()), Outcome::Refused(Refusal::FileSealed));
    assert_eq!(cluster.apply(ForgetFiles { files: vec![file, file] }), Outcome::Forgotten(1));
    assert_eq!(cluster.state.file(&file), None);
    assert_eq!(cluster.apply(late), Outcome::Refused(Refusal::FileSealed));
    cluster.apply(SealFile { file, length: 5 });
    assert_eq!(cluster.state.file(&file), None, "it stays forgotten");
}

#[test]
fn only_garbage_is_forgotten() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1)]);
    let files = vec![cluster.file_id(1), cluster.file_id(2)];
    seal(&mut cluster);
    assert_eq!(cluster.apply(ForgetFiles { files }), Outcome::Forgotten(0));
    assert_eq!(cluster.entries(p).len(), 1);
}

#[test]
fn deleting_a_topic_frees_its_files() {
    let mut cluster = Harness::new();
    let [p, q] = cluster.topic("t", 2)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1), batch(q, 1)]);
    seal(&mut cluster);
    let (topic, file) = (cluster.topic_id("t"), cluster.file_id(1));
    cluster.apply(DeleteTopic { topic });
    assert_eq!(
        cluster.events(),
        [Event::TopicDeleted { topic }, Event::FileUnreachable { file, at: cluster.now },]
    );
    assert!(cluster.state.partition(p).is_none());
    assert_eq!(cluster.apply(DeleteTopic { topic }), Outcome::Refused(Refusal::UnknownTopic));
}

#[test]
fn fencing_seals_the_files_of_the_lanes() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1)]);
    cluster.advance(p, None);
    let (epoch, file) = (cluster.lane.epoch, cluster.file_id(1));
    cluster.apply(FenceBroker { broker: BROKER, epoch });
    assert_eq!(cluster.events()[1..], [Event::FileUnreachable { file, at: cluster.now }]);
}

#[test]
fn garbage_waits_for_its_grace_and_for_the_state_to_be_saved() {
    let mut cluster = Harness::new();
    seal(&mut cluster);
    let file = cluster.file_id(1);
    let freed = cluster.state.applied_index();
    let (now, later) = (cluster.now, TimestampMs(cluster.now.0 + 600_000));
    let before = AppliedIndex(freed.0 - 1);
    let plan = |now, saved| garbage::plan(&cluster.state, now, 600_000, saved, 10);
    assert_eq!(plan(TimestampMs(later.0 - 1), freed), []);
    assert_eq!(plan(later, before), []);
    assert_eq!(plan(later, freed), [file]);
    assert_eq!(garbage::plan(&cluster.state, later, 600_000, freed, 0), []);
    #[cfg(feature = "twins")]
    {
        use tidemill_base::twins::{Twin, switch_on};
        let _twin = switch_on(Twin::GraceIgnored);
        assert_eq!(plan(now, before), [file]);
    }
    let _ = now;
}

#[test]
fn log_starts_stay_within_the_log() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let gone = tidemill_base::PartitionId(99);
    cluster.commit(vec![batch(p, 10)]);
    let advance = |partition, to| LogStartAdvance { partition, to: Some(Offset(to)) };
    let advances =
        vec![advance(p, 11), advance(p, -1), advance(p, 4), advance(p, 3), advance(gone, 0)];
    let outcome = cluster.apply(crate::command::AdvanceLogStart { advances });
    assert_eq!(
        outcome,
        Outcome::LogStarts(vec![
            LogStartOutcome::OutOfRange,
            LogStartOutcome::OutOfRange,
            LogStartOutcome::StartsAt(Offset(4)),
            LogStartOutcome::StartsAt(Offset(4)),
            LogStartOutcome::PartitionGone,
        ])
    );
    assert_eq!(cluster.entries(p).len(), 1, "an extent that is cut into stays");
    let outcome = cluster.commit_one(batch(p, 1));
    let expected = BatchOutcome::Committed { base_offset: Offset(10), log_start: Offset(4) };
    assert_eq!(outcome, expected);
}

fn configure(cluster: &mut Harness, name: &str, value: &str) {
    let topic = cluster.topic_id("t");
    let outcome = cluster.apply(AlterConfigs {
        resource: ConfigResource::Topic(topic),
        replace_all: false,
        changes: vec![ConfigChange {
            name: name.to_owned(),
            operation: ConfigOperation::Set(value.to_owned()),
        }],
    });
    assert_eq!(outcome, Outcome::Done);
}

#[test]
fn retention_by_time_takes_whole_entries_from_the_front() {
    let mut cluster = Harness::new();
    let [p, q] = cluster.topic("t", 2)[..] else { panic!() };
    configure(&mut cluster, "retention.ms", "1000");
    let now = cluster.now;
    for age in [3000, 1001, 1000, 5000] {
        let mut old = batch(p, 2);
        old.max_timestamp = TimestampMs(now.0 - age);
        cluster.commit(vec![old]);
    }
    let advance = LogStartAdvance { partition: p, to: Some(Offset(4)) };
    assert_eq!(retention::plan(&cluster.state, now, 10), std::slice::from_ref(&advance));
    assert_eq!(retention::plan(&cluster.state, now, 0), []);
    cluster.apply(crate::command::AdvanceLogStart { advances: vec![advance] });
    assert_eq!(retention::plan(&cluster.state, now, 10), []);
    let later = TimestampMs(now.0 + 1);
    let all = LogStartAdvance { partition: p, to: Some(Offset(8)) };
    assert_eq!(retention::plan(&cluster.state, later, 10), [all]);
    configure(&mut cluster, "retention.ms", "-1");
    assert_eq!(retention::plan(&cluster.state, TimestampMs(i64::MAX), 10), []);
    assert_eq!(cluster.entries(q), []);
}

#[test]
fn retention_by_bytes_keeps_at_least_that_many() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    configure(&mut cluster, "retention.ms", "-1");
    for _ in 0..5 {
        cluster.commit(vec![batch(p, 1)]);
    }
    for (bytes, kept) in [(0, 0), (1, 1), (BATCH_BYTES, 1), (BATCH_BYTES + 1, 2), (500, 5)] {
        configure(&mut cluster, "retention.bytes", &bytes.to_string());
        let plan = retention::plan(&cluster.state, cluster.now, 10);
        let start = plan.first().map_or(0, |advance| advance.to.expect("a number").0);
        assert_eq!(5 - start, kept, "{bytes}");
    }
}
