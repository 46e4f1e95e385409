//! `tidemill group reset-offsets`.
//!
//! An offset is never committed where there is no record: what is asked for is moved to the nearest
//! offset that exists.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{Admin, IsolationLevel, Offset, PartitionIndex, TimestampMs, TopicPartition};

use crate::cli::{ResetOffsets, ResetTarget};
use crate::commands::session::Session;
use crate::failure::Failure;
use crate::output::Table;

/// A partition's offset before and after.
struct Move {
    partition: TopicPartition,
    from: Option<i64>,
    to: i64,
}

/// Where a partition begins and ends, and where the target lies, before it is moved to fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    earliest: i64,
    latest: i64,
}

/// Moves offsets.
pub(super) async fn reset(
    session: &mut Session,
    admin: &Admin,
    args: &ResetOffsets,
) -> Result<(), Failure> {
    refuse_members(session, admin, &args.name).await?;
    let partitions = partitions(session, admin, args).await?;
    let moves = match plan(admin, args, &partitions).await {
        Ok(moves) => moves,
        Err(error) => return Err(session.failure(&error)),
    };
    if !args.dry_run {
        let offsets = moves.iter().map(|one| (one.partition.clone(), Offset(one.to))).collect();
        let altered = admin.alter_group_offsets(&args.name, &offsets).await;
        let answers = altered.map_err(|error| session.failure(&error))?;
        for (_, answer) in answers {
            answer.map_err(|error| session.failure(&error))?;
        }
    }
    let object = as_json(args, &moves);
    session.console.result(object, || as_text(args, &moves))
}

async fn refuse_members(session: &Session, admin: &Admin, group: &str) -> Result<(), Failure> {
    let described = admin.describe_groups(&[group]).await;
    let described = described.map_err(|error| session.failure(&error))?;
    // A group that does not exist yet may be given offsets to begin with.
    let members = described
        .into_iter()
        .filter_map(|(_, group)| group.ok())
        .map(|group| group.members.len())
        .sum::<usize>();
    if members == 0 {
        return Ok(());
    }
    let message = format!("group {group} has {members} members, which would not notice");
    Err(Failure::failed(message).hint("stop them first: `tidemill group describe` shows them"))
}

async fn partitions(
    session: &Session,
    admin: &Admin,
    args: &ResetOffsets,
) -> Result<Vec<TopicPartition>, Failure> {
    let names: Vec<&str> = args.topics.iter().map(String::as_str).collect();
    let answers = admin.describe_topics(&names).await.map_err(|error| session.failure(&error))?;
    let mut partitions = Vec::new();
    for (name, topic) in answers {
        let topic = topic.map_err(|error| session.failure(&error))?;
        if let Some(missing) = args
            .partitions
            .iter()
            .find(|index| !topic.partitions.contains_key(&PartitionIndex(**index)))
        {
            return Err(Failure::not_found(format!("topic {name} has no partition {missing}")));
        }
        let wanted = topic.partitions.keys().map(|index| index.0);
        let wanted = wanted.filter(|i| args.partitions.is_empty() || args.partitions.contains(i));
        partitions.extend(wanted.map(|index| TopicPartition::new(name.as_str(), index)));
    }
    Ok(partitions)
}

async fn plan(
    admin: &Admin,
    args: &ResetOffsets,
    partitions: &[TopicPartition],
) -> tidemill_client::Result<Vec<Move>> {
    let committed = admin.group_offsets(&args.name, Some(partitions)).await?;
    let earliest = offsets(admin, partitions, OffsetSpec::Earliest).await?;
    let latest = offsets(admin, partitions, OffsetSpec::Latest).await?;
    let at_time = match args.target.to_timestamp {
        Some(ms) => offsets(admin, partitions, OffsetSpec::At(TimestampMs(ms))).await?,
        None => BTreeMap::new(),
    };
    let plan_one = |partition: &TopicPartition| {
        let from = committed.get(partition).map(|committed| committed.offset.0);
        let range = Range {
            earliest: earliest.get(partition).copied().unwrap_or(0),
            latest: latest.get(partition).copied().unwrap_or(0),
        };
        let to = target_offset(&args.target, range, from, at_time.get(partition).copied());
        Move { partition: partition.clone(), from, to }
    };
    Ok(partitions.iter().map(plan_one).collect())
}

async fn offsets(
    admin: &Admin,
    partitions: &[TopicPartition],
    spec: OffsetSpec,
) -> tidemill_client::Result<BTreeMap<TopicPartition, i64>> {
    let wanted = partitions.iter().map(|partition| (partition.clone(), spec)).collect();
    let mut found = BTreeMap::new();
    for (partition, listed) in admin.list_offsets(&wanted, IsolationLevel::ReadUncommitted).await {
        if let Some(offset) = listed?.offset {
            found.insert(partition, offset.0);
        }
    }
    Ok(found)
}

/// Where a partition's offset is moved to. `at_time` is the first record at or after the time asked.
fn target_offset(
    target: &ResetTarget,
    range: Range,
    committed: Option<i64>,
    at_time: Option<i64>,
) -> i64 {
    let wanted = if target.to_earliest {
        range.earliest
    } else if let Some(offset) = target.to_offset {
        offset
    } else if let Some(by) = target.shift_by {
        committed.unwrap_or(range.earliest).saturating_add(by)
    } else if target.to_timestamp.is_some() {
        at_time.unwrap_or(range.latest)
    } else {
        range.latest
    };
    wanted.clamp(range.earliest, range.latest.max(range.earliest))
}

fn as_json(args: &ResetOffsets, moves: &[Move]) -> Value {
    let offsets: Vec<Value> = moves
        .iter()
        .map(|one| {
            json!({
                "topic": &*one.partition.topic,
                "partition": one.partition.partition.0,
                "from_offset": one.from,
                "to_offset": one.to,
            })
        })
        .collect();
    json!({ "group": args.name, "dry_run": args.dry_run, "offsets": offsets })
}

fn as_text(args: &ResetOffsets, moves: &[Move]) -> String {
    let mut table = Table::new(&["TOPIC", "PARTITION", "FROM", "TO"]);
    for one in moves {
        table.row([
            one.partition.topic.to_string(),
            one.partition.partition.0.to_string(),
            one.from.map_or_else(|| "-".to_owned(), |from| from.to_string()),
            one.to.to_string(),
        ]);
    }
    let said = if args.dry_run { "nothing was changed" } else { "offsets were reset" };
    let group = &args.name;
    let note = match moves.iter().all(|one| one.from.is_none()) {
        true => format!("; group {group} had committed none of them before: is its name right?"),
        false => String::new(),
    };
    format!("{}\n{said}{note}", table.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { earliest: 100, latest: 200 };

    fn target() -> ResetTarget {
        ResetTarget {
            to_earliest: false,
            to_latest: false,
            to_offset: None,
            to_timestamp: None,
            shift_by: None,
        }
    }

    #[test]
    fn ends_are_the_partitions_own() {
        let earliest = ResetTarget { to_earliest: true, ..target() };
        let latest = ResetTarget { to_latest: true, ..target() };
        assert_eq!(target_offset(&earliest, RANGE, Some(150), None), 100);
        assert_eq!(target_offset(&latest, RANGE, Some(150), None), 200);
    }

    #[test]
    fn an_offset_or_a_shift_stays_where_records_are() {
        let to = |offset| ResetTarget { to_offset: Some(offset), ..target() };
        assert_eq!(target_offset(&to(150), RANGE, None, None), 150);
        assert_eq!(target_offset(&to(5), RANGE, None, None), 100);
        assert_eq!(target_offset(&to(999), RANGE, None, None), 200);
        let by = |by| ResetTarget { shift_by: Some(by), ..target() };
        assert_eq!(target_offset(&by(-20), RANGE, Some(150), None), 130);
        assert_eq!(target_offset(&by(i64::MIN), RANGE, Some(150), None), 100);
        assert_eq!(target_offset(&by(10), RANGE, None, None), 110);
    }

    #[test]
    fn a_time_after_every_record_means_the_end() {
        let at = ResetTarget { to_timestamp: Some(5), ..target() };
        assert_eq!(target_offset(&at, RANGE, None, Some(170)), 170);
        assert_eq!(target_offset(&at, RANGE, None, None), 200);
    }
}
