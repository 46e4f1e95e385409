//! Reads are answered whole from slices or not at all, within the budget.

use super::*;
use crate::testing::{lane, object};

fn file(number: u32) -> FileId {
    let object = object(lane(0), 1);
    FileId {
        incarnation: object.incarnation,
        lane: object.lane,
        number: tidemill_base::FileNumber(number),
        sequence: 0,
    }
}

fn at(number: u32, position: u64, length: u32) -> Location {
    Location { file: file(number), position, length }
}

fn body(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn text(slices: Option<Vec<Bytes>>) -> Option<String> {
    slices.map(|slices| String::from_utf8(slices.concat()).unwrap())
}

#[test]
fn reads_are_slices_of_what_was_put_in() {
    let cache = HotCache::new(10_000);
    let part = body("abcdef");
    cache.insert(at(1, 100, 30), vec![(10, part.clone()), (16, body("ghi")), (25, body("xyz"))]);
    let read = |position, length| text(cache.get(file(1), position, length));
    assert_eq!(read(110, 9).as_deref(), Some("abcdefghi"));
    assert_eq!(read(112, 5).as_deref(), Some("cdefg"));
    assert_eq!(read(125, 3).as_deref(), Some("xyz"));
    assert_eq!(read(110, 0).as_deref(), Some(""));
    let slices = cache.get(file(1), 110, 6).unwrap();
    assert_eq!(slices[0].as_ptr(), part.as_ptr());
}

#[test]
fn a_read_that_is_not_held_whole_is_not_answered() {
    let cache = HotCache::new(10_000);
    cache.insert(at(1, 100, 30), vec![(10, body("abcdef")), (25, body("xyz"))]);
    for (position, length) in [(109, 1), (110, 7), (116, 1), (116, 9), (120, 8), (128, 1), (99, 1)]
    {
        assert_eq!(cache.get(file(1), position, length), None, "{position} {length}");
    }
    assert_eq!(cache.get(file(2), 110, 1), None);
    assert_eq!(cache.get(file(0), 110, 1), None);
}

#[test]
fn the_oldest_objects_go_first_and_the_budget_is_kept() {
    let cache = HotCache::new(3 * (10 + PART_OVERHEAD_BYTES));
    for number in 0..5_u64 {
        cache.insert(at(1, number * 100, 10), vec![(0, body("0123456789"))]);
        assert!(cache.held_bytes() <= cache.budget_bytes());
    }
    let held: Vec<u64> =
        (0..5).filter(|number| cache.get(file(1), number * 100, 10).is_some()).collect();
    assert_eq!(held, [2, 3, 4]);
}

#[test]
fn an_object_beyond_the_budget_is_not_kept() {
    let cache = HotCache::new(100);
    cache.insert(at(1, 0, 5), vec![(0, body("small"))]);
    assert_eq!(cache.held_bytes(), 0);
}

#[test]
fn what_is_put_in_again_is_counted_once() {
    let cache = HotCache::new(10_000);
    cache.insert(at(1, 0, 3), vec![(0, body("old"))]);
    cache.insert(at(1, 0, 3), vec![(0, body("new"))]);
    assert_eq!(cache.held_bytes(), 3 + PART_OVERHEAD_BYTES);
    assert_eq!(text(cache.get(file(1), 0, 3)).as_deref(), Some("new"));
}

#[test]
fn a_file_is_dropped_whole() {
    let cache = HotCache::new(10_000);
    for position in [0, 100, 200] {
        cache.insert(at(1, position, 3), vec![(0, body("one"))]);
        cache.insert(at(2, position, 3), vec![(0, body("two"))]);
    }
    cache.remove_file(file(1));
    assert_eq!(cache.get(file(1), 100, 3), None);
    assert!(cache.get(file(2), 100, 3).is_some());
    assert_eq!(cache.held_bytes(), 3 * (3 + PART_OVERHEAD_BYTES));
    cache.insert(at(1, 0, 3), vec![(0, body("new"))]);
    assert_eq!(text(cache.get(file(1), 0, 3)).as_deref(), Some("new"));
}
