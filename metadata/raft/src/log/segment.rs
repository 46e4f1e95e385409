//! Segments: the append files that together are the log.

use tidemill_appendfile::FileHeader;

/// The directory of the segments, within the data directory.
pub(crate) const DIRECTORY: &str = "meta/raft";

/// The kind of append file that a segment is; never reused for another kind of file.
const FILE_KIND: u8 = 2;

/// A frame holds one group commit, which `batch_bytes_max` keeps far smaller.
pub(crate) const FRAME_BYTES_MAX: u32 = 64 << 20;

/// What is known of one segment. Segments are ordered by number, and never reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// The last entry that was durable in older segments when this one began.
    pub(crate) proven_index: u64,
    /// The largest index in it, or `proven_index` if it holds no entry.
    pub(crate) last_index: u64,
    /// Bytes written to it.
    pub(crate) bytes: u64,
}

/// The path of a segment within the data directory.
pub(crate) fn path(number: u64) -> String {
    format!("{DIRECTORY}/{}", file_name(number))
}

/// The number in a segment's file name, or `None` if the file is something else.
pub(crate) fn number_of(file_name: &str) -> Option<u64> {
    let digits = file_name.strip_suffix(".raft")?;
    let number = digits.parse().ok()?;
    (number != 0 && self::file_name(number) == file_name).then_some(number)
}

/// What a segment's file begins with.
pub(crate) fn header(number: u64) -> Option<FileHeader> {
    FileHeader::new(FILE_KIND, path(number).as_bytes())
}

fn file_name(number: u64) -> String {
    format!("{number:012}.raft")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_number() {
        assert_eq!(path(7), "meta/raft/000000000007.raft");
        assert_eq!(number_of("000000000007.raft"), Some(7));
        for other in ["7.raft", "000000000000.raft", "000000000007.tmp", "x"] {
            assert_eq!(number_of(other), None, "{other}");
        }
        assert!(header(u64::MAX).is_some(), "every number fits the identity");
    }
}
