//! Gzip (RFC 1952): any number of members, each with its checksum verified.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Budget, CHUNK_BYTES, grow};
use crate::codec::Codec;
use crate::error::RecordsError;

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const HEADER_BYTES: usize = 10;
const TRAILER_BYTES: usize = 8;
const HEADER_CHECKSUM: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0xe0;

/// Gzip data under way.
pub(crate) struct GzipInflater<'a> {
    input: &'a [u8],
    state: &'a mut Decompress,
    sum: Crc,
    in_member: bool,
}

fn error(reason: &'static str) -> RecordsError {
    RecordsError::Decompress { codec: Codec::Gzip, reason }
}

impl<'a> GzipInflater<'a> {
    pub(crate) fn new(input: &'a [u8], state: &'a mut Decompress) -> Self {
        Self { input, state, sum: Crc::new(), in_member: false }
    }

    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<usize, RecordsError> {
        grow(out, CHUNK_BYTES);
        loop {
            if !self.in_member {
                if self.input.is_empty() {
                    return Ok(0);
                }
                self.begin_member()?;
            }
            let (read, written) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(self.input, &mut out[..CHUNK_BYTES], FlushDecompress::None)
                .map_err(|_| error("not deflate data"))?;
            let read = (self.state.total_in() - read) as usize;
            let written = (self.state.total_out() - written) as usize;
            self.input = self.input.get(read..).unwrap_or_default();
            self.sum.update(&out[..written]);
            budget.spend(written)?;
            if status == Status::StreamEnd {
                self.end_member()?;
            } else if read == 0 && written == 0 {
                return Err(error("it ends within a member"));
            }
            if written > 0 {
                return Ok(written);
            }
        }
    }

    fn begin_member(&mut self) -> Result<(), RecordsError> {
        let short = || error("it ends within a member's header");
        let header: [u8; HEADER_BYTES] = *self.input.first_chunk().ok_or_else(short)?;
        if header[..3] != MAGIC || header[3] & RESERVED != 0 {
            return Err(error("not a gzip header"));
        }
        let flags = header[3];
        let mut rest = &self.input[HEADER_BYTES..];
        if flags & EXTRA != 0 {
            let (length, after) = rest.split_first_chunk::<2>().ok_or_else(short)?;
            rest = after.get(usize::from(u16::from_le_bytes(*length))..).ok_or_else(short)?;
        }
        for text in [NAME, COMMENT] {
            if flags & text != 0 {
                let end = rest.iter().position(|&byte| byte == 0).ok_or_else(short)?;
                rest = &rest[end + 1..];
            }
        }
        if flags & HEADER_CHECKSUM != 0 {
            rest = rest.get(2..).ok_or_else(short)?;
        }
        self.input = rest;
        self.state.reset(false);
        self.sum.reset();
        self.in_member = true;
        Ok(())
    }

    fn end_member(&mut self) -> Result<(), RecordsError> {
        let (trailer, rest) = self
            .input
            .split_first_chunk::<TRAILER_BYTES>()
            .ok_or(error("it ends within a member's trailer"))?;
        let expected = [self.sum.sum().to_le_bytes(), self.sum.amount().to_le_bytes()].concat();
        if trailer[..] != expected[..] {
            return Err(error("a member's checksum or length is wrong"));
        }
        self.input = rest;
        self.in_member = false;
        Ok(())
    }
}
