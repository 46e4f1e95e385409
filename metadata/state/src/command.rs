//! Commands: the entries of the metadata log, each a proposal that `apply` judges.
//!
//! - A command names everything it depends on; apply reads no clock, no random number, no object.
//! - Encoding: kind (u8), version (u8), proposed time (i64), then the fields in the order of their
//!   declaration, little-endian (docs/formats/metadata-commands.md). Kinds are never renumbered, a released version's
//!   layout never changes; `fixtures/` holds one encoding of each for ever.
//! - No encoding exceeds [`Command::BYTES_MAX`].

mod broker;
mod cluster;
mod commit_object;
mod config;
mod file;
mod group;
mod log;
mod offsets;
mod topic;

use bytes::Bytes;
use tidemill_base::TimestampMs;

pub use broker::{FenceBroker, Listener, RegisterBroker};
pub use cluster::{AllocateProducerIds, RaiseFeatureLevel, StartIncarnation, Tick};
pub use commit_object::CommitObject;
pub use config::{AlterConfigs, ConfigChange, ConfigOperation, ConfigResource};
pub use file::{Condemn, ForgetFiles, SEQUENCE_END, SealFile};
pub use group::{ClaimGroup, CompleteGeneration, DeleteGroups, Generation, Member};
pub use log::{AdvanceLogStart, FoldExtents, FoldRun, LogStartAdvance};
pub use offsets::{CommitOffsets, Committer, DeleteOffsets, ExpireOffsets, OffsetCommit};
pub use topic::{CreatePartitions, CreateTopic, DeleteTopic};

use crate::codec::{DecodeError, Reader, Writer};

macro_rules! commands {
    ($( $(#[$doc:meta])* $name:ident = $kind:literal ),* $(,)?) => {
        /// A proposal to the state machine.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Command {
            $( $(#[$doc])* $name($name), )*
        }

        $( impl From<$name> for Command {
            fn from(command: $name) -> Self {
                Self::$name(command)
            }
        } )*

        impl Command {
            /// The command's number in encodings; never reused.
            #[must_use]
            pub fn kind(&self) -> u8 {
                match self { $( Self::$name(_) => $kind, )* }
            }

            /// The command's name, for logs and metrics.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $( Self::$name(_) => stringify!($name), )* }
            }

            fn encode_fields(&self, to: &mut Writer) {
                match self { $( Self::$name(command) => to.put(command), )* }
            }

            fn decode_fields(kind: u8, from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match kind {
                    $( $kind => Ok(Self::$name(from.take()?)), )*
                    _ => Err(from.error("command", "is of an unknown kind")),
                }
            }
        }
    };
}

commands! {
    /// Commits one log object.
    CommitObject = 1,
    /// Raises a lane's floor.
    Condemn = 2,
    /// Closes a file.
    SealFile = 3,
    /// Forgets deleted garbage.
    ForgetFiles = 4,
    /// Advances log starts.
    AdvanceLogStart = 5,
    /// Folds extents.
    FoldExtents = 6,
    /// Gives a broker a new epoch.
    RegisterBroker = 16,
    /// Fences a broker.
    FenceBroker = 17,
    /// Gives out producer ids.
    AllocateProducerIds = 18,
    /// Raises the feature level.
    RaiseFeatureLevel = 19,
    /// Starts a new life of the cluster.
    StartIncarnation = 20,
    /// Lets time pass.
    Tick = 21,
    /// Creates a topic.
    CreateTopic = 32,
    /// Deletes a topic.
    DeleteTopic = 33,
    /// Adds partitions.
    CreatePartitions = 34,
    /// Changes configs.
    AlterConfigs = 35,
    /// Claims a group.
    ClaimGroup = 48,
    /// Records a completed generation.
    CompleteGeneration = 49,
    /// Deletes groups.
    DeleteGroups = 50,
    /// Commits offsets.
    CommitOffsets = 51,
    /// Deletes committed offsets.
    DeleteOffsets = 52,
    /// Drops expired offsets.
    ExpireOffsets = 53,
}

impl Command {
    /// The most bytes of one encoded command. Larger bodies go to an object that a command names.
    pub const BYTES_MAX: usize = 1 << 20;

    /// The version of every command's layout so far.
    const VERSION: u8 = 1;

    /// The command as an entry of the metadata log, with the time at which it is proposed. A
    /// proposer refuses one that is longer than [`Self::BYTES_MAX`].
    #[must_use]
    pub fn encode(&self, proposed: TimestampMs) -> Bytes {
        let mut to = Writer::default();
        to.put(&self.kind());
        to.put(&Self::VERSION);
        to.put(&proposed);
        self.encode_fields(&mut to);
        to.0.into()
    }

    /// Reads an entry of the metadata log: the time at which it was proposed, and the command.
    ///
    /// # Errors
    /// The bytes are not the encoding of a command that this build knows.
    pub fn decode(bytes: &[u8]) -> Result<(TimestampMs, Self), DecodeError> {
        let mut from = Reader::new(bytes);
        if bytes.len() > Self::BYTES_MAX {
            return Err(from.error("command", "is longer than 1 MiB"));
        }
        let kind = from.take()?;
        let version: u8 = from.take()?;
        if version != Self::VERSION {
            return Err(from.error("command", "is of an unknown version"));
        }
        let proposed = from.take()?;
        let command = Self::decode_fields(kind, &mut from)?;
        from.end()?;
        Ok((proposed, command))
    }
}
