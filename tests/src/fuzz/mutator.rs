//! Small damage that gets past the first checks: bits, numbers that are lengths and counts, cut and
//! repeated parts, parts of other inputs.

use crate::chance::Chance;

/// No input grows beyond this: larger ones find the same and take longer.
const INPUT_BYTES_MAX: usize = 64 * 1024;
/// The most mutations of one input.
const MUTATIONS_MAX: usize = 6;

/// Numbers at which code goes wrong, whatever their width.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x3fff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x10_0000,
    0xff_ffff,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

/// Damages `input`, sometimes with parts of `other`.
pub(super) fn mutate(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    // Mostly few, so that what lies behind the first checks is reached.
    let mut count = 1;
    while count < MUTATIONS_MAX && chance.one_in(2) {
        count += 1;
    }
    for _ in 0..count {
        mutate_once(input, other, chance);
    }
    input.truncate(INPUT_BYTES_MAX);
}

fn mutate_once(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    if input.is_empty() {
        input.extend_from_slice(other);
        input.push(chance.roll() as u8);
        return;
    }
    match chance.below(12) {
        0 | 1 => flip_bit(input, chance),
        2 => {
            let at = chance.below(input.len());
            input[at] = chance.roll() as u8;
        }
        3 | 4 => overwrite_number(input, chance),
        5 => shift_number(input, chance),
        6 => replace_varint(input, chance),
        7 => {
            let left = chance.below(input.len());
            input.truncate(left);
        }
        8 => remove_part(input, chance),
        9 => repeat_part(input, chance),
        10 => insert_noise(input, chance),
        _ => splice(input, other, chance),
    }
}

fn flip_bit(input: &mut [u8], chance: &mut Chance) {
    let at = chance.below(input.len());
    input[at] ^= 1 << chance.below(8);
}

/// Writes an interesting number over 1, 2, 4 or 8 bytes, in either order of bytes.
fn overwrite_number(input: &mut [u8], chance: &mut Chance) {
    let number = interesting(chance);
    let width = 1 << chance.below(4);
    let at = chance.below(input.len());
    let little = number.to_le_bytes();
    let big = number.to_be_bytes();
    let bytes = if chance.one_in(2) { &little[..width] } else { &big[8 - width..] };
    let end = (at + width).min(input.len());
    input[at..end].copy_from_slice(&bytes[..end - at]);
}

/// Adds a little to a number of 2 or 4 bytes, in either order of bytes.
fn shift_number(input: &mut [u8], chance: &mut Chance) {
    let by = chance.between(1, 16) as u32;
    let by = if chance.one_in(2) { by } else { by.wrapping_neg() };
    let at = chance.below(input.len());
    let is_little = chance.one_in(2);
    if let Some(bytes) = input[at..].first_chunk_mut::<4>().filter(|_| by & 1 == 0) {
        *bytes = match is_little {
            true => u32::from_le_bytes(*bytes).wrapping_add(by).to_le_bytes(),
            false => u32::from_be_bytes(*bytes).wrapping_add(by).to_be_bytes(),
        };
    } else if let Some(bytes) = input[at..].first_chunk_mut::<2>() {
        *bytes = match is_little {
            true => u16::from_le_bytes(*bytes).wrapping_add(by as u16).to_le_bytes(),
            false => u16::from_be_bytes(*bytes).wrapping_add(by as u16).to_be_bytes(),
        };
    } else {
        input[at] = input[at].wrapping_add(by as u8);
    }
}

/// Replaces what may be a varint by an interesting one, which moves all that follows.
fn replace_varint(input: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(input.len());
    let length = input[at..].iter().take(9).take_while(|byte| **byte >= 0x80).count() + 1;
    let end = (at + length).min(input.len());
    let mut number = interesting(chance);
    let mut varint = Vec::with_capacity(10);
    while number >= 0x80 {
        varint.push(number as u8 | 0x80);
        number >>= 7;
    }
    varint.push(number as u8);
    input.splice(at..end, varint);
}

fn remove_part(input: &mut Vec<u8>, chance: &mut Chance) {
    let (from, to) = part(input.len(), chance);
    input.drain(from..to);
}

/// Repeats a part once, or so often that a count or a limit is passed.
fn repeat_part(input: &mut Vec<u8>, chance: &mut Chance) {
    let (from, to) = part(input.len(), chance);
    let part = input[from..to].to_vec();
    let times = if chance.one_in(16) { chance.between(2, 300) as usize } else { 1 };
    let times = times.min(INPUT_BYTES_MAX / part.len().max(1));
    input.splice(to..to, part.repeat(times));
}

fn insert_noise(input: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    let mut noise = vec![0; chance.between(1, 16) as usize];
    if chance.one_in(2) {
        chance.fill(&mut noise);
    }
    input.splice(at..at, noise);
}

/// Puts a part of the other input over or into this one.
fn splice(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let (from, to) = part(other.len(), chance);
    let at = chance.below(input.len() + 1);
    let end = if chance.one_in(2) { at } else { (at + to - from).min(input.len()) };
    input.splice(at..end, other[from..to].iter().copied());
}

/// A part, mostly short.
fn part(length: usize, chance: &mut Chance) -> (usize, usize) {
    let from = chance.below(length);
    let longest = if chance.one_in(4) { length - from } else { (length - from).min(24) };
    (from, from + chance.below(longest + 1))
}

fn interesting(chance: &mut Chance) -> u64 {
    match chance.below(4) {
        0 => chance.roll() >> chance.below(64),
        1 => chance.pick(NUMBERS).wrapping_add(chance.below(3) as u64).wrapping_sub(1),
        _ => *chance.pick(NUMBERS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_any_length_can_be_mutated_and_stay_bounded() {
        let mut chance = Chance::new(3);
        for length in [0, 1, 2, 3, 5, 9, 100, INPUT_BYTES_MAX] {
            for other in [0, 1, 50] {
                for _ in 0..200 {
                    let mut input = vec![0x80; length];
                    mutate(&mut input, &vec![1; other], &mut chance);
                    assert!(input.len() <= INPUT_BYTES_MAX);
                }
            }
        }
    }
}
