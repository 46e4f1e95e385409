//! The names of log files and log objects: formatted and read back here and nowhere else.
//!
//! `log/<incarnation>-<broker>-<epoch>-<lane>-f<number>.log` is an append file, and
//! `log/<incarnation>-<broker>-<epoch>-<lane>/<sequence>/<crc>` an immutable object whose body has
//! that CRC-32C. Its sequence is padded, so that a listing is in order, and a directory of its own, so
//! that the object is found by listing that, without its CRC.
//!
//! Side objects (index objects, later segments and manifests) are named in their writer's object
//! lane: `objects/<incarnation>-<broker>-<epoch>-<lane>-<sequence>` on a disk, and in an object store
//! as log objects are, under `objects/`.

use tidemill_base::{BrokerEpoch, BrokerId, FileId, FileNumber, Incarnation, LaneId, LaneKey};

/// The directory, or prefix, of all log files and objects.
pub const LOG_DIRECTORY: &str = "log";

/// The directory, or prefix, of all side objects.
pub const OBJECTS_DIRECTORY: &str = "objects";

/// The path of an append file.
#[must_use]
pub fn append_file_path(file: &FileId) -> String {
    format!("{LOG_DIRECTORY}/{}-f{}.log", lane_prefix(file), file.number)
}

/// The append file that has `name` within its directory.
#[must_use]
pub fn parse_append_file(name: &str) -> Option<FileId> {
    let (rest, number) = name.strip_suffix(".log")?.rsplit_once("-f")?;
    let number = FileNumber(digits(number)?);
    let (incarnation, lane) = parse_lane(rest)?;
    (number.0 > 0).then_some(FileId { incarnation, lane, number, sequence: 0 })
}

/// The path of a side object on a disk.
#[must_use]
pub fn side_object_path(file: &FileId) -> String {
    format!("{OBJECTS_DIRECTORY}/{}-{}", lane_prefix(file), file.sequence)
}

/// The side object that has `name` within its directory on a disk.
#[must_use]
pub fn parse_side_object(name: &str) -> Option<FileId> {
    let (rest, sequence) = name.rsplit_once('-')?;
    let (incarnation, lane) = parse_lane(rest)?;
    Some(FileId { incarnation, lane, number: FileNumber(0), sequence: digits(sequence)? })
}

/// The key of an immutable object under `directory` whose body has this CRC-32C.
#[must_use]
pub fn object_key(directory: &str, file: &FileId, body_crc: u32) -> String {
    format!("{}/{body_crc:08x}", object_directory(directory, file))
}

/// Where under `directory` an immutable object lies, whatever its body.
#[must_use]
pub fn object_directory(directory: &str, file: &FileId) -> String {
    format!("{directory}/{}/{:020}", lane_prefix(file), file.sequence)
}

/// The immutable object under `directory` that has this key, and its body's CRC-32C.
#[must_use]
pub fn parse_object(directory: &str, key: &str) -> Option<(FileId, u32)> {
    let rest = key.strip_prefix(directory)?.strip_prefix('/')?;
    let (rest, crc) = rest.rsplit_once('/')?;
    let (rest, sequence) = rest.rsplit_once('/')?;
    let (incarnation, lane) = parse_lane(rest)?;
    let (true, true) = (crc.len() == 8, sequence.len() == 20) else { return None };
    let crc = u32::from_str_radix(crc, 16).ok()?;
    let sequence = digits(sequence.trim_start_matches('0'))?;
    Some((FileId { incarnation, lane, number: FileNumber(0), sequence }, crc))
}

/// The bytes that tell an append file from every other, for its header.
#[must_use]
pub fn append_file_identity(file: &FileId) -> [u8; 18] {
    let mut identity = [0; 18];
    identity[..4].copy_from_slice(&file.incarnation.0.to_le_bytes());
    identity[4..8].copy_from_slice(&file.lane.broker.0.to_le_bytes());
    identity[8..12].copy_from_slice(&file.lane.epoch.0.to_le_bytes());
    identity[12..14].copy_from_slice(&file.lane.lane.0.to_le_bytes());
    identity[14..].copy_from_slice(&file.number.0.to_le_bytes());
    identity
}

fn lane_prefix(file: &FileId) -> String {
    let lane = &file.lane;
    format!("{}-{}-{}-{}", file.incarnation, lane.broker, lane.epoch, lane.lane)
}

fn parse_lane(text: &str) -> Option<(Incarnation, LaneKey)> {
    let mut numbers = text.split('-');
    let incarnation = Incarnation(digits(numbers.next()?)?);
    let lane = LaneKey {
        broker: BrokerId(digits(numbers.next()?)?),
        epoch: BrokerEpoch(digits(numbers.next()?)?),
        lane: LaneId(digits(numbers.next()?)?),
    };
    numbers.next().is_none().then_some((incarnation, lane))
}

/// A number as this module writes it: digits only, and no needless zeros.
fn digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if plain && !padded { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> LaneKey {
        LaneKey { broker: BrokerId(3), epoch: BrokerEpoch(7), lane: LaneId(1) }
    }

    fn file(number: u32, sequence: u64) -> FileId {
        FileId { incarnation: Incarnation(2), lane: lane(), number: FileNumber(number), sequence }
    }

    #[test]
    fn names_of_append_files_come_back() {
        let file = file(12, 0);
        assert_eq!(append_file_path(&file), "log/2-3-7-1-f12.log");
        assert_eq!(parse_append_file("2-3-7-1-f12.log"), Some(file));
    }

    #[test]
    fn names_of_objects_come_back_in_their_order() {
        let file = file(0, 45);
        let key = object_key("log", &file, 0xAB);
        assert_eq!(key, "log/2-3-7-1/00000000000000000045/000000ab");
        assert_eq!(parse_object("log", &key), Some((file, 0xAB)));
        assert!(key.starts_with(&object_directory("log", &file)));
    }

    #[test]
    fn names_of_side_objects_come_back() {
        let file = file(0, 45);
        assert_eq!(side_object_path(&file), "objects/2-3-7-1-45");
        assert_eq!(parse_side_object("2-3-7-1-45"), Some(file));
        assert_eq!(parse_side_object("2-3-7-1-45.tmp"), None);
        assert_eq!(parse_side_object("2-3-7-45"), None);
    }

    #[test]
    fn other_names_are_nothing() {
        for name in [
            "",
            "x",
            "2-3-7-1-f0.log",
            "2-3-7-1-f01.log",
            "2-3-7-f1.log",
            "2-3-7-1-2-f1.log",
            "2-3-7-1-f1.log.tmp",
            "+2-3-7-1-f1.log",
            "2-3-7-1-f.log",
            "2--3-7-1-f1.log",
        ] {
            assert_eq!(parse_append_file(name), None, "{name}");
        }
        for name in ["log/2-3-7-1/45/000000ab", "log/2-3-7-1/00000000000000000045/ab", "log/a/b"] {
            assert_eq!(parse_object("log", name), None, "{name}");
        }
    }
}
