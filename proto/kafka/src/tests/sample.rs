//! Random messages for tests: every field a version has, from a seed.

use bytes::Bytes;
use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::record_parts::RecordParts;
use crate::wire::{Format, Nullable};

/// A small generator of numbers (SplitMix64), the same for the same seed everywhere.
pub(crate) struct Sampler {
    state: u64,
    /// How deep in arrays the value being made is: deeper arrays are shorter.
    depth: u32,
}

impl Sampler {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, depth: 0 }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.number() & 1 == 1
    }

    /// A number that is often at an edge.
    fn edgy(&mut self, min: i64, max: i64) -> i64 {
        match self.below(8) {
            0 => min,
            1 => max,
            2 => 0,
            3 => -1,
            _ => self.number() as i64,
        }
    }

    /// A length that is mostly small and sometimes needs two bytes of a varint.
    fn length(&mut self) -> usize {
        match self.below(16) {
            0 => 0,
            1 => 120 + self.below(200),
            _ => 1 + self.below(12),
        }
    }
}

/// A value that can be made up.
pub(crate) trait Sample: Sized {
    fn sample(s: &mut Sampler, format: Format) -> Self;
}

macro_rules! integer_sample {
    ($($int:ident)*) => {$(
        impl Sample for $int {
            fn sample(s: &mut Sampler, _: Format) -> Self {
                s.edgy(i64::from($int::MIN), i64::from($int::MAX)) as $int
            }
        }
    )*};
}
integer_sample! { i8 i16 i32 i64 }

impl Sample for bool {
    fn sample(s: &mut Sampler, _: Format) -> Self {
        s.coin()
    }
}

impl Sample for ErrorCode {
    fn sample(s: &mut Sampler, format: Format) -> Self {
        Self(i16::sample(s, format))
    }
}

impl Sample for Uuid {
    fn sample(s: &mut Sampler, _: Format) -> Self {
        Self::from_u64_pair(s.number(), s.number())
    }
}

impl Sample for KString {
    fn sample(s: &mut Sampler, _: Format) -> Self {
        let length = s.length();
        let letters = ['a', 'Z', '0', '.', '-', 'é', '水', '🌊'];
        Self::from((0..length).map(|_| letters[s.below(letters.len())]).collect::<String>())
    }
}

impl Sample for Bytes {
    fn sample(s: &mut Sampler, _: Format) -> Self {
        let length = if s.below(8) == 0 { 1000 } else { s.length() };
        (0..length).map(|_| s.number() as u8).collect()
    }
}

impl Sample for RecordParts {
    fn sample(s: &mut Sampler, format: Format) -> Self {
        let mut parts = Self::new();
        for _ in 0..s.below(4) {
            let head = s.number().to_be_bytes();
            let body = Bytes::sample(s, format);
            parts.push_batch([head, head].concat().try_into().unwrap(), body);
        }
        parts
    }
}

impl<T: Sample + Nullable> Sample for Option<T> {
    fn sample(s: &mut Sampler, format: Format) -> Self {
        (!format.nullable || s.below(3) > 0).then(|| T::sample(s, format.field(false)))
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(s: &mut Sampler, format: Format) -> Self {
        s.depth += 1;
        let count = match (s.below(16), s.depth) {
            (0, _) => 0,
            (1, 1) => 130 + s.below(20),
            (_, depth) => s.below(if depth > 2 { 3 } else { 4 }),
        };
        let made = (0..count).map(|_| T::sample(s, format.field(false))).collect();
        s.depth -= 1;
        made
    }
}
