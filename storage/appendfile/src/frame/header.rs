//! The header of an append file: what it is, and which one.

/// The length of a file header.
pub const HEADER_BYTES: usize = 64;

/// The most bytes an identity may have.
pub const IDENTITY_BYTES_MAX: usize = 48;

const MAGIC: [u8; 8] = *b"TIDEFILE";
const VERSION: u16 = 1;
const CRC_AT: usize = HEADER_BYTES - 4;

/// What stands at the start of an append file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileHeader {
    kind: u8,
    identity: Vec<u8>,
}

/// Why bytes are not the header of an append file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeaderError {
    /// The file is shorter than a header.
    #[error("the file ends within its header")]
    Cut,
    /// The header was never written; nothing behind it was ever durable.
    #[error("the file has no header yet")]
    Blank,
    /// The file is something else.
    #[error("not an append file")]
    MagicWrong,
    /// A newer program wrote it.
    #[error("append file of version {0}, which this program does not know")]
    VersionUnknown(u16),
    /// The header is damaged, or was torn when the file was made.
    #[error("the header's checksum is wrong")]
    ChecksumWrong,
}

impl FileHeader {
    /// A header for a file of `kind` (a number its owner gives, never reused) with `identity`: bytes
    /// that no other file on the disk has had, such as its name. `None` if the identity is longer
    /// than [`IDENTITY_BYTES_MAX`].
    #[must_use]
    pub fn new(kind: u8, identity: &[u8]) -> Option<Self> {
        (identity.len() <= IDENTITY_BYTES_MAX).then(|| Self { kind, identity: identity.to_vec() })
    }

    /// What the file holds.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// The header's checksum, from which its frames' checksums go on.
    ///
    /// It must leave out the checksum field itself: a sum over bytes and their own sum is the same
    /// number for every header.
    #[must_use]
    pub(super) fn checksum(&self) -> u32 {
        crc32c::crc32c(&self.fields()[..CRC_AT])
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = self.fields();
        bytes[CRC_AT..].copy_from_slice(&self.checksum().to_le_bytes());
        bytes
    }

    /// All but the checksum.
    fn fields(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = self.kind;
        bytes[11] = self.identity.len() as u8;
        bytes[12..12 + self.identity.len()].copy_from_slice(&self.identity);
        bytes
    }

    /// Reads the header at the start of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(HeaderError::Cut)?;
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(HeaderError::Blank);
        }
        if bytes[..8] != MAGIC {
            return Err(HeaderError::MagicWrong);
        }
        let crc = u32::from_le_bytes([
            bytes[CRC_AT],
            bytes[CRC_AT + 1],
            bytes[CRC_AT + 2],
            bytes[CRC_AT + 3],
        ]);
        if crc32c::crc32c(&bytes[..CRC_AT]) != crc {
            return Err(HeaderError::ChecksumWrong);
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            return Err(HeaderError::VersionUnknown(version));
        }
        let identity_bytes = usize::from(bytes[11]).min(IDENTITY_BYTES_MAX);
        Ok(Self { kind: bytes[10], identity: bytes[12..12 + identity_bytes].to_vec() })
    }
}
