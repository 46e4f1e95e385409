//! Encodings kept for ever: what an earlier build wrote must be read as the same thing.
//!
//! `fixtures/commands.txt` holds a line `name hex` for each command and version,
//! `fixtures/snapshot.txt` a line `key value` in hex for each record of one small state. New lines
//! are added (run the tests with `TIDEMILL_WRITE_FIXTURES=1` once); present ones never change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use tidemill_base::digest::ExtentDigest;
use tidemill_base::{
    BrokerEpoch, BrokerId, GroupEpoch, GroupGeneration, Incarnation, LaneId, LaneKey, LaneSequence,
    LeaderEpoch, Offset, PartitionId, PartitionIndex, TimestampMs, TopicId,
};
use uuid::Uuid;

use crate::command::*;
use crate::harness::{BROKER, Harness, batch, produced};
use crate::state::MetadataState;

const PROPOSED: TimestampMs = TimestampMs(1_700_000_000_123);

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("hex")).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// The lines of a fixture; first writes those of `now` that it lacks, if asked to.
fn lines(name: &str, now: &[(String, String)]) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path(name)).unwrap_or_default();
    let mut kept: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    if std::env::var_os("TIDEMILL_WRITE_FIXTURES").is_some() {
        for (key, value) in now {
            kept.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let text: String = kept.iter().map(|(key, value)| format!("{key} {value}\n")).collect();
        std::fs::create_dir_all(path("")).expect("the folder can be made");
        std::fs::write(path(name), text).expect("the fixture can be written");
    }
    kept
}

fn topic() -> TopicId {
    TopicId(Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10))
}

fn log_samples() -> Vec<(&'static str, Command)> {
    let mut cluster = Harness::new();
    let (p, q) = (PartitionId(5), PartitionId(6));
    let mut object =
        cluster.next_object(vec![batch(p, 3), produced(p, 2, 77, 1, 9), produced(q, 1, 78, 0, 0)]);
    object.skips = vec![LaneSequence(3), LaneSequence(4)];
    object.batches[2].transactional = true;
    object.batches[2].position += 7;
    if let Some(producer) = &mut object.batches[2].producer {
        producer.transaction = 12;
    }
    let lane = LaneKey { lane: LaneId::OBJECTS, ..cluster.lane };
    let mut index = cluster.object(8);
    index.lane = lane;
    let mut location = object.location;
    location.file.lane = lane;
    let run = FoldRun {
        partition: p,
        first_offset: Offset(10),
        end_offset: Offset(20),
        entries: 3,
        digest: ExtentDigest(0x1122_3344_5566_7788),
    };
    let file = cluster.file_id(2);
    let advances = vec![
        LogStartAdvance { partition: p, to: Some(Offset(4)) },
        LogStartAdvance { partition: q, to: None },
    ];
    vec![
        ("CommitObject", object.into()),
        ("Condemn", Condemn { lane, floor: LaneSequence(6) }.into()),
        ("SealFile", SealFile { file, length: 999 }.into()),
        ("ForgetFiles", ForgetFiles { files: vec![file, location.file] }.into()),
        ("AdvanceLogStart", AdvanceLogStart { advances }.into()),
        ("FoldExtents", FoldExtents { file, index, location, runs: vec![run] }.into()),
    ]
}

fn cluster_samples() -> Vec<(&'static str, Command)> {
    let (broker, epoch) = (BrokerId(3), BrokerEpoch(4));
    let listener = Listener { name: "L".to_owned(), host: "h".to_owned(), port: 9092 };
    let register = RegisterBroker {
        broker,
        listeners: vec![listener],
        zone: Some("z".to_owned()),
        http_address: None,
        feature_level_max: 1,
    };
    let create = CreateTopic {
        name: "events".to_owned(),
        id: topic(),
        partitions: 3,
        replication_factor: -1,
        configs: vec![("retention.ms".to_owned(), "5".to_owned())],
    };
    let change = |name: &str, operation| ConfigChange { name: name.to_owned(), operation };
    let alter = AlterConfigs {
        resource: ConfigResource::Topic(topic()),
        replace_all: true,
        changes: vec![
            change("a", ConfigOperation::Set("1".to_owned())),
            change("b", ConfigOperation::Delete),
            change("c", ConfigOperation::Append("2".to_owned())),
            change("d", ConfigOperation::Subtract("3".to_owned())),
        ],
    };
    vec![
        ("RegisterBroker", register.into()),
        ("FenceBroker", FenceBroker { broker, epoch }.into()),
        ("AllocateProducerIds", AllocateProducerIds { broker, epoch, count: 9 }.into()),
        ("RaiseFeatureLevel", RaiseFeatureLevel { level: 2 }.into()),
        ("StartIncarnation", StartIncarnation { incarnation: Incarnation(2) }.into()),
        ("Tick", Tick {}.into()),
        ("CreateTopic", create.into()),
        ("DeleteTopic", DeleteTopic { topic: topic() }.into()),
        ("CreatePartitions", CreatePartitions { topic: topic(), partitions_total: 6 }.into()),
        ("AlterConfigs", alter.into()),
    ]
}

fn group_samples() -> Vec<(&'static str, Command)> {
    let group = || "g".to_owned();
    let epoch = GroupEpoch(7);
    let member = Member {
        member_id: "m".to_owned(),
        instance_id: Some("i".to_owned()),
        client_id: "c".to_owned(),
        client_host: "/h".to_owned(),
        rebalance_timeout_ms: 1,
        session_timeout_ms: 2,
        subscription: Bytes::from_static(b"sub"),
        assignment: Bytes::from_static(b"assigned"),
    };
    let generation = Generation {
        generation: GroupGeneration(4),
        protocol_type: "consumer".to_owned(),
        protocol: Some("range".to_owned()),
        leader: Some("m".to_owned()),
        members: vec![member],
    };
    let commit = OffsetCommit {
        topic: topic(),
        partition: PartitionIndex(1),
        offset: Offset(55),
        leader_epoch: Some(LeaderEpoch(0)),
        metadata: "note".to_owned(),
    };
    let committer = Committer { generation: GroupGeneration(4), member_id: "m".to_owned() };
    let commit =
        CommitOffsets { group: group(), epoch, committer: Some(committer), offsets: vec![commit] };
    let partitions = vec![(topic(), PartitionIndex(1))];
    vec![
        ("ClaimGroup", ClaimGroup { group: group(), broker: BROKER, epoch: BrokerEpoch(1) }.into()),
        ("CompleteGeneration", CompleteGeneration { group: group(), epoch, generation }.into()),
        ("DeleteGroups", DeleteGroups { groups: vec![group()] }.into()),
        ("CommitOffsets", commit.into()),
        ("DeleteOffsets", DeleteOffsets { group: group(), epoch, partitions }.into()),
        ("ExpireOffsets", ExpireOffsets { retention_ms: 5, groups: vec![group()] }.into()),
    ]
}

pub(crate) fn samples() -> Vec<(&'static str, Command)> {
    [log_samples(), cluster_samples(), group_samples()].concat()
}

#[test]
fn commands_written_by_any_build_are_read() {
    let now: Vec<(String, String)> = samples()
        .into_iter()
        .map(|(name, command)| (format!("{name}-v1"), hex(&command.encode(PROPOSED))))
        .collect();
    let kept = lines("commands.txt", &now);
    for (name, text) in &kept {
        assert!(Command::decode(&unhex(text)).is_ok(), "{name}");
    }
    for (name, command) in samples() {
        assert_eq!(command.name(), name);
        let text = kept.get(&format!("{name}-v1")).expect("every command has a fixture");
        assert_eq!(Command::decode(&unhex(text)), Ok((PROPOSED, command)));
    }
}

/// A small state with a record of every table.
pub(crate) fn small_state() -> MetadataState {
    let mut cluster = Harness::new();
    let [p, q] = cluster.topic("t", 2)[..] else { panic!() };
    for at in 0..7 {
        cluster.commit(vec![produced(p, 2, 7, 0, at * 2), batch(q, 1)]);
    }
    let (file, length) = (cluster.file_id(1), cluster.position);
    cluster.apply(SealFile { file, length });
    let plan = crate::plan::fold::plan(&cluster.state, &Default::default()).remove(0);
    let lane = LaneKey { lane: LaneId::OBJECTS, ..cluster.lane };
    let mut index = cluster.object(1);
    index.lane = lane;
    let file =
        tidemill_base::FileId { number: tidemill_base::FileNumber(0), sequence: 1, lane, ..file };
    let location = tidemill_base::Location { file, position: 0, length: 300 };
    for command in plan.commands(index, location) {
        cluster.apply(command);
    }
    cluster.file = 2;
    cluster.position = 0;
    cluster.commit(vec![batch(p, 1), produced(q, 1, 8, 0, 0)]);
    cluster.apply(SealFile { file: cluster.file_id(3), length: 10 });
    let change = ConfigChange {
        name: "num.partitions".to_owned(),
        operation: ConfigOperation::Set("2".to_owned()),
    };
    cluster.apply(AlterConfigs {
        resource: ConfigResource::Cluster,
        replace_all: false,
        changes: vec![change],
    });
    cluster.apply(ClaimGroup { group: "g".to_owned(), broker: BROKER, epoch: BrokerEpoch(1) });
    let offset = OffsetCommit {
        topic: cluster.topic_id("t"),
        partition: PartitionIndex(1),
        offset: Offset(3),
        leader_epoch: None,
        metadata: "note".to_owned(),
    };
    cluster.apply(CommitOffsets {
        group: "g".to_owned(),
        epoch: GroupEpoch(1),
        committer: None,
        offsets: vec![offset],
    });
    cluster.state
}

#[test]
fn snapshots_written_by_any_build_are_read() {
    let state = small_state();
    let puts = state.snapshot().puts;
    let now: Vec<(String, String)> =
        puts.iter().map(|(key, value)| (hex(key), hex(value))).collect();
    let kept = lines("snapshot.txt", &now);
    let records = kept.iter().map(|(key, value)| (unhex(key), unhex(value)));
    let restored = MetadataState::restore(records).expect("the fixture restores");
    assert_eq!(restored.snapshot().puts, puts, "as it is built today");
}
