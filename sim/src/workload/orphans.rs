//! What nobody named, in the present life: a side object whose fold never came, and a file that its
//! lane left after a failed sync.
//!
//! Runs when the faults are over, since a life has to last for the patience, the grace and some rounds
//! of housekeeping. Then a fold that names the object comes late, as from a paused process: it must be
//! refused, or the state refers to what is not there.

use bytes::Bytes;
use tidemill_base::{FileId, FileNumber, LaneId, LaneKey, LaneSequence, Location, ObjectId};
use tidemill_metadata_state::command::FoldExtents;
use tidemill_metadata_state::{MetadataState, Outcome, Refusal};
use tidemill_storage_store::file_name;

use super::Clients;
use crate::world::lives::Life;

/// What was left on purpose.
pub struct Left {
    object: FileId,
    file: FileId,
}

/// Leaves orphans in the store of the present life. None if it takes none.
pub async fn leave(clients: &Clients) -> Option<Left> {
    let life = clients.lives.current()?;
    let broker = life.node.broker();
    let incarnation = broker.metadata.with_state(MetadataState::incarnation);
    let lane = LaneKey { broker: broker.id, epoch: broker.epoch, lane: LaneId::OBJECTS };
    let floor = broker.metadata.with_state(|state| state.lane_floor(&lane)).unwrap_or_default();
    // Above all that zombies used; folds of the node go on above the floor.
    let sequence = floor.0.max(1 << 41) + 1 + clients.chance.below(100);
    let index = ObjectId { incarnation, lane, sequence: LaneSequence(sequence) };
    let object = clients.lives.put_object(index, Bytes::from_static(b"no fold came")).await?.file;
    // Two files of a lane that the node does not use: the older one is what a failed sync leaves.
    let lane = LaneKey { lane: LaneId(78), ..lane };
    let [file, newer] =
        [1, 2].map(|number| FileId { incarnation, lane, number: FileNumber(number), sequence: 0 });
    for file in [file, newer] {
        let path = file_name::append_file_path(&file);
        let mut file = clients.lives.disks.disk().create(&path, 0).await.ok()?;
        file.write(&[Bytes::from_static(b"a flush that failed")]).await.ok()?;
        file.sync().await.ok()?;
    }
    Some(Left { object, file })
}

/// Looks whether the orphans are gone, and then lets the late fold come.
pub async fn must_be_gone(clients: &Clients, left: &Left) {
    let Some(life) = clients.lives.current() else { return };
    let paths = clients.lives.disks.memory.paths();
    let ways = [
        (left.object, file_name::side_object_path(&left.object)),
        (left.file, file_name::append_file_path(&left.file)),
    ];
    for (file, path) in ways {
        match paths.contains(&path) {
            true => clients.history.violation(format!("P8: orphan {file} of this life is left")),
            false => clients.rare_events.add("orphan of the present life collected", 1),
        }
    }
    late_fold(clients, &life, left.object).await;
}

async fn late_fold(clients: &Clients, life: &Life, object: FileId) {
    let sequence = LaneSequence(object.sequence);
    let index = ObjectId { incarnation: object.incarnation, lane: object.lane, sequence };
    let location = Location { file: object, position: 0, length: 12 };
    let fold = FoldExtents { file: FileId::default(), index, location, runs: Vec::new() };
    match life.node.broker().metadata.propose(fold).await {
        Ok(Outcome::Refused(Refusal::Condemned)) => {
            clients.rare_events.add("late fold of a deleted object refused", 1);
        }
        Ok(outcome) => clients.history.violation(format!(
            "P8: object {object} was deleted though it could be committed: {outcome:?}"
        )),
        Err(error) => clients.history.violation(format!("the metadata does not answer: {error}")),
    }
}
