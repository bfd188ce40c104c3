//! Peers that take away what they share, and what they cannot.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::*;

fn region(len: usize) -> (Arc<Region>, OwnedFd) {
    let (region, file) = Region::create(len).unwrap();
    (Arc::new(region), file)
}

/// A file of this length that cannot be sealed.
fn unsealed(len: u64) -> OwnedFd {
    let file = rustix::fs::memfd_create("unsealed", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, len).unwrap();
    file
}

#[test]
fn both_see_the_same_bytes_and_nothing_outside() {
    let (ours, file) = region(5000);
    let theirs = Region::open(&file, 5000).unwrap();
    ours.copy_in(4990, b"0123456789").unwrap();
    let mut bytes = [0; 10];
    theirs.copy_out(4990, &mut bytes).unwrap();
    assert_eq!((&bytes, theirs.size()), (b"0123456789", 5000));
    assert_eq!(ours.copy_in(4991, b"0123456789"), None);
    for offset in [4991, 5001, usize::MAX] {
        assert_eq!(theirs.copy_out(offset, &mut bytes), None);
        assert!(!theirs.holds(offset, usize::MAX));
    }
}

#[test]
fn a_file_cannot_shrink_under_an_opened_region() {
    let (_, file) = region(8192);
    assert!(ftruncate(&file, 4096).is_err());
    assert!(Region::open(&file, 8193).is_err());
    assert!(Region::open(&file, 0).is_err());
    let why = Region::open(unsealed(8192), 8192).unwrap_err().to_string();
    assert_eq!(why, "region is not sealed against shrinking");
    let (pipe, _) = rustix::pipe::pipe().unwrap();
    assert!(Region::open(&pipe, 1).is_err());
}

#[test]
fn a_mapping_begins_anywhere_in_a_file_of_memory_and_ends_in_it() {
    let file = unsealed(12_288);
    for (offset, len) in [(0, 12_288), (4096, 8192), (5000, 7000), (1, 1)] {
        let (region, at) = Region::map(&file, offset, len).unwrap();
        assert_eq!(at as u64 % PAGE, offset % PAGE);
        assert!(region.copy_in(at, &vec![7; len as usize]).is_some());
        assert!(region.copy_in(at + 1, &vec![7; len as usize]).is_none());
    }
    for (offset, len) in [(0, 12_289), (12_288, 1), (u64::MAX, 2), (8192, u64::MAX), (0, 0)] {
        let why = Region::map(&file, offset, len).unwrap_err().to_string();
        assert_eq!(why, "region is longer than its file", "{offset} {len}");
    }
    let why = Region::map(std::fs::File::open("/proc/self/exe").unwrap(), 0, 10).unwrap_err();
    assert_eq!(why.to_string(), "region is neither in tmpfs nor in hugetlbfs");
}

#[test]
fn memory_that_is_taken_away_is_zeroes_and_known_to_be() {
    let file = unsealed(1 << 20);
    let (region, _) = Region::map(&file, 0, 1 << 20).unwrap();
    let (other, _) = Region::map(unsealed(4096), 0, 4096).unwrap();
    region.copy_in(70_000, b"there").unwrap();
    ftruncate(&file, 0).unwrap();
    let mut bytes = [1; 5];
    region.copy_out(70_000, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 5]);
    region.copy_in(70_000, b"again").unwrap();
    region.copy_out(70_000, &mut bytes).unwrap();
    assert_eq!(&bytes, b"again");
    assert!(region.is_lost() && !other.is_lost());
    let words = Words::new(Arc::new(region), 8192, 64, 8).unwrap();
    words.u64(56).store(9, Ordering::Relaxed);
    assert_eq!(words.u64(56).load(Ordering::Relaxed), 9);
    drop(words);
    // The place in the list is used again, as new.
    let (next, _) = Region::map(unsealed(4096), 0, 4096).unwrap();
    assert!(!next.is_lost());
}

#[test]
fn words_are_aligned_and_within_their_stretch() {
    let (region, _file) = region(4096);
    let new = |at, len, align| Words::new(Arc::clone(&region), at, len, align);
    assert!(new(4090, 6, 2).is_some() && new(4090, 7, 2).is_none() && new(4091, 2, 2).is_none());
    assert!(new(usize::MAX - 1, 2, 2).is_none() && new(4096, 0, 8).is_some());
    let words = new(8, 16, 8).unwrap();
    words.u32(4).store(5, Ordering::Relaxed);
    words.u16(14).store(6, Ordering::Relaxed);
    let mut bytes = [0; 24];
    region.copy_out(0, &mut bytes).unwrap();
    assert_eq!((bytes[12], bytes[22]), (5, 6));
    for (offset, what) in [(9, 8), (16, 8), (12, 8), (usize::MAX, 8)] {
        let words = words.clone();
        let outside = std::panic::catch_unwind(move || words.u64(offset).load(Ordering::Relaxed));
        assert!(outside.is_err(), "{offset} {what}");
    }
}

#[test]
fn a_bell_wakes_whatever_its_maker_does_to_it() {
    let flags = EventfdFlags::CLOEXEC;
    let theirs = eventfd(0, flags).unwrap();
    let bell = Bell::of(rustix::io::dup(&theirs).unwrap()).unwrap();
    let mut count = [0; 8];
    rustix::io::read(&theirs, &mut count).unwrap();
    for _ in 0..2000 {
        bell.ring();
    }
    rustix::io::read(&theirs, &mut count).unwrap();
    assert_eq!(u64::from_ne_bytes(count), 2000);
    // Full and blocking: a writer waits.
    rustix::io::write(&theirs, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        (0..1000).for_each(|_| bell.ring());
        done.send(())
    });
    waits.recv_timeout(Duration::from_secs(20)).expect("it does not wait for the peer");
}

#[test]
fn nothing_else_is_a_bell() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let file: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
    for other in [reader, writer, file] {
        assert_eq!(Bell::of(other).unwrap_err().to_string(), "interrupt is no eventfd");
    }
}

#[test]
fn pieces_are_written_and_read_one_behind_the_other() {
    struct One(Arc<Region>);
    impl Memory for One {
        fn region(&self, number: u16) -> Option<&Region> {
            (number == 0).then_some(&*self.0)
        }
    }
    let (region, _file) = region(4096);
    let memory = One(region);
    let piece = |offset, len| Piece { region: 0, offset, len };
    let pieces = [piece(4090, 6), piece(0, 0), piece(10, 3), piece(100, 100)];
    let mut writer = Writer::new(&memory, &pieces);
    writer.put(b"abcd").unwrap();
    writer.put(b"efghijkl").unwrap();
    let mut bytes = [0; 12];
    head(&memory, &pieces, &mut bytes).unwrap();
    assert_eq!(&bytes, b"abcdefghijkl");
    memory.0.copy_out(10, &mut bytes[..3]).unwrap();
    assert_eq!(&bytes[..3], b"ghi");
    assert!(writer.put(&[1; 97]).is_some() && writer.put(&[1]).is_none());
    assert_eq!(
        (length(&pieces, 12), length(&pieces, 109), length(&pieces, 110)),
        (Some(97), None, None)
    );
    let outside = [Piece { region: 1, offset: 0, len: 4 }];
    assert!(head(&memory, &outside, &mut bytes).is_none());
    assert!(Writer::new(&memory, &outside).put(b"x").is_none());
    assert!(Writer::new(&memory, &[piece(4095, 2)]).put(b"x").is_none());
}
