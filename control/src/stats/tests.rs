//! The segment read back through its file, as clients do.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::mpsc;

use infra::counter::Volume;

use super::reader::{Reader, Sample};
use super::*;

const BY_PORT: Columns = Columns::growing("port", 1 << 16);

fn segment() -> (Segment, Reader) {
    let segment = Segment::new(2, None).unwrap();
    let reader = Reader::new(segment.readable().unwrap()).unwrap();
    (segment, reader)
}

fn read(reader: &Reader, name: &str) -> Sample {
    reader.read(name).unwrap().unwrap_or_else(|| panic!("{name} is not there"))
}

#[test]
fn every_byte_is_where_clients_look_for_it() {
    let (mut s, _) = segment();
    s.set(HEARTBEAT, 7);
    let rows = s.simple("/port/lost", BY_PORT).unwrap();
    s.grow(BY_PORT, 3).unwrap();
    rows.row(1)[2].add(5);
    s.symlink("/ports/x/lost", "/port/lost", 2).unwrap();
    let file = File::from(s.readable().unwrap());
    let bytes = |at: u64, len: usize| {
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, at).unwrap();
        bytes
    };
    let u32_at = |at| u32::from_le_bytes(bytes(at, 4).try_into().unwrap());
    let u64_at = |at| u64::from_le_bytes(bytes(at, 8).try_into().unwrap());
    let base = u64_at(8);
    assert_eq!((u64_at(0), u64_at(16), u64_at(24)), (2, s.epoch(), 0));
    assert_eq!(bytes(40, 4056), [0; 4056], "the rest of the first page stays zero");
    let directory = u64_at(32) - base;
    assert_eq!(u32_at(directory - 8), 5);
    let name = |index: u64| {
        let name = bytes(directory + 144 * index + 16, 128);
        String::from_utf8(name.split(|b| *b == 0).next().unwrap().to_vec()).unwrap()
    };
    let first = ["/sys/heartbeat", "/sys/last_stats_clear", "/sys/boottime"];
    assert_eq!([0, 1, 2].map(name), first);
    assert_eq!([3, 4].map(name), ["/port/lost", "/ports/x/lost"]);
    assert_eq!([0, 1, 2, 3, 4].map(|i| u32_at(directory + 144 * i)), [1, 1, 1, 2, 6]);
    assert_eq!((u64_at(directory + 8), u64_at(directory + 144 + 8)), (7, 0));
    assert!(u64_at(directory + 288 + 8) > 1_500_000_000);
    let threads = u64_at(directory + 432 + 8) - base;
    assert_eq!(u32_at(threads - 8), 2);
    let row = u64_at(threads + 8) - base;
    assert_eq!((u32_at(row - 8), u64_at(row + 16)), (3, 5));
    assert_eq!((u32_at(directory + 576 + 8), u32_at(directory + 576 + 12)), (3, 2));
    assert!(row + 24 < file.metadata().unwrap().len());
}

#[test]
fn clients_read_what_was_counted() {
    let (mut s, reader) = segment();
    let rx = s.combined("/port/rx", BY_PORT).unwrap();
    let gauge = s.gauge("/pool/free").unwrap();
    rx.row(0)[1].add(2, 120);
    assert_eq!(read(&reader, "/port/rx"), Sample::Combined(vec![vec![], vec![]]));
    s.grow(BY_PORT, 2).unwrap();
    let (none, some) = (Volume::default(), Volume { packets: 2, bytes: 120 });
    assert_eq!(
        read(&reader, "/port/rx"),
        Sample::Combined(vec![vec![none, some], vec![none, none]]),
        "what was counted before clients saw it counts"
    );
    s.set(gauge, 99);
    assert_eq!(read(&reader, "/pool/free"), Sample::Number(99));
    s.simple("/port/late", BY_PORT).unwrap().row(1)[1].add(1);
    assert_eq!(read(&reader, "/port/late").sum(1), 1, "later vectors are as long as others");
    s.symlink("/ports/a/rx", "/port/rx", 1).unwrap();
    assert_eq!(read(&reader, "/ports/a/rx").sum(0), 2);
    rx.zero(0, 0..2);
    assert_eq!(read(&reader, "/ports/a/rx").sum(0), 0);
    s.rename("/ports/a/rx", "/ports/b/rx").unwrap();
    assert_eq!(reader.read("/ports/a/rx").unwrap(), None);
    assert_eq!(read(&reader, "/ports/b/rx").sum(0), 0);
    let names = reader.names().unwrap();
    assert_eq!(names.get("/ports/b/rx"), Some(&6));
}

#[test]
fn clients_see_the_threads_there_are() {
    let mut s = Segment::new(4, None).unwrap();
    let reader = Reader::new(s.readable().unwrap()).unwrap();
    s.show_threads(1);
    let lost = s.simple("/port/lost", BY_PORT).unwrap();
    let single = s.row("/port/single", 1).unwrap();
    s.grow(BY_PORT, 1).unwrap();
    lost.row(2)[0].add(5);
    single.row(0)[0].add(1);
    assert_eq!(read(&reader, "/port/lost"), Sample::Simple(vec![vec![0]]));
    for threads in [3, 1] {
        s.show_threads(threads);
        let all = Sample::Simple(vec![vec![0], vec![0], vec![5]]);
        assert_eq!(read(&reader, "/port/lost"), all, "threads that end have counted");
        assert_eq!(read(&reader, "/port/single"), Sample::Simple(vec![vec![1]]));
    }
}

#[test]
fn removed_entries_leave_a_place_that_serves_again() {
    let (mut s, reader) = segment();
    let epoch = s.epoch();
    s.scalar("/a").unwrap();
    s.simple("/b", BY_PORT).unwrap();
    s.grow(BY_PORT, 1).unwrap();
    s.symlink("/c", "/b", 0).unwrap();
    s.scalar("/d").unwrap();
    let used = s.usage().used;
    assert_eq!(s.epoch(), epoch + 5);
    s.remove("/b").unwrap();
    assert_eq!(s.epoch(), epoch + 6, "one change, though the symlink goes too");
    let names = |reader: &Reader| {
        let names = reader.names().unwrap().into_keys();
        names.filter(|n| !n.starts_with("/sys/")).collect::<Vec<_>>()
    };
    assert_eq!(names(&reader), ["/a", "/d"]);
    s.gauge("/e").unwrap();
    s.gauge("/f").unwrap();
    assert_eq!(names(&reader).len(), 4);
    s.remove("/e").unwrap();
    s.remove("/f").unwrap();
    s.simple("/b", BY_PORT).unwrap();
    s.symlink("/c", "/b", 0).unwrap();
    assert_eq!(s.usage().used, used);
}

#[test]
fn the_directory_ends_behind_its_last_entry() {
    let (mut s, reader) = segment();
    let names = |reader: &Reader| reader.names().unwrap().len();
    let before = names(&reader);
    let name = |n: usize| format!("/many/{n}");
    for round in 0..3 {
        for n in 0..3000 {
            s.scalar(&name(n)).unwrap();
        }
        assert_eq!(names(&reader), before + 3000);
        // Forwards, backwards, and all but one in the middle.
        let stays = if round == 2 { 1500 } else { 3000 };
        let order = |n: usize| if round == 0 { n } else { 2999 - n };
        for n in (0..3000).map(order).filter(|n| *n != stays) {
            s.remove(&name(n)).unwrap();
        }
        assert_eq!(names(&reader), before + usize::from(round == 2));
    }
    for n in (0..3000).filter(|n| *n != 1500) {
        let number = s.scalar(&name(n)).unwrap();
        s.set(number, n as u64);
    }
    assert_eq!(names(&reader), before + 3000);
    assert_eq!(read(&reader, "/many/2999"), Sample::Number(2999));
    assert_eq!(read(&reader, "/many/0"), Sample::Number(0));
}

#[test]
fn columns_of_objects_that_are_gone_take_no_memory() {
    let (mut s, reader) = segment();
    let lost = s.simple("/port/lost", BY_PORT).unwrap();
    s.names("/port/names", 1 << 16).unwrap();
    let file = std::fs::File::from(s.readable().unwrap());
    let touched = || std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) * 512;
    let fill = |s: &mut Segment, len: usize| {
        s.grow(BY_PORT, len).unwrap();
        (0..len).for_each(|column| {
            s.set_name("/port/names", column, "name").unwrap();
            lost.row(1)[column].set(7);
        });
    };
    fill(&mut s, 10);
    let (used, before) = (s.usage().used, touched());
    for _ in 0..3 {
        fill(&mut s, 50_000);
        assert!(s.usage().used > used && touched() > before + 400_000);
        s.shrink(BY_PORT, 10);
        assert_eq!((0..).take_while(|number| s.give_back(BY_PORT, *number)).count(), 1);
        while s.shrink_names("/port/names", 10) {}
        assert_eq!(s.usage().used, used);
        let row = |value| vec![value; 10];
        assert_eq!(read(&reader, "/port/lost"), Sample::Simple(vec![row(0), row(7)]));
        let names = vec![Some("name".to_owned()); 10];
        assert_eq!(read(&reader, "/port/names"), Sample::Names(names));
        assert_eq!(lost.row(1)[40_000].value(), 0, "its memory is new");
    }
    // Texts of names are small; their pages serve the next names.
    assert!(touched() < before + (4 << 20), "{before} then {}", touched());
}

#[test]
fn names_are_replaced_in_place() {
    let (mut s, reader) = segment();
    s.names("/port/names", 100).unwrap();
    let before = s.usage().used;
    for i in 0..5000 {
        s.set_name("/port/names", 2, &format!("port-number-{i}")).unwrap();
    }
    s.set_name("/port/names", 0, "local0").unwrap();
    let third = Some("port-number-4999".to_owned());
    assert_eq!(
        read(&reader, "/port/names"),
        Sample::Names(vec![Some("local0".to_owned()), None, third])
    );
    assert!(s.usage().used - before < 200);
    assert!(s.set_name("/port/names", 100, "x").is_err(), "beyond its capacity");
}

#[test]
fn histograms_count_by_power_of_two() {
    let (mut s, reader) = segment();
    let h = s.histogram("/lag", 3, 4).unwrap();
    for value in [0, 1, 15, 16, 31, 32, 64, 1 << 40] {
        h.count(1, value);
    }
    assert_eq!(
        read(&reader, "/lag"),
        Sample::Histogram(vec![vec![3, 0, 0, 0, 0], vec![3, 3, 2, 1, 2]])
    );
}

#[test]
fn rings_keep_the_latest_entries() {
    let (mut s, reader) = segment();
    let size = RingSize { entry: 16, ring: 4, threads: 2 };
    let ring = s.ring("/events", size, (1, "seq: u64, text: 8 bytes")).unwrap();
    for i in 0..6_u64 {
        ring.push(1, &[&i.to_le_bytes()[..], b"abc"].concat());
    }
    let entry = |i: u64| [&i.to_le_bytes()[..], b"abc\0\0\0\0\0"].concat();
    let latest = (2..6).map(entry).collect();
    assert_eq!(read(&reader, "/events"), Sample::Ring(vec![vec![], latest]));
    let file = File::from(s.readable().unwrap());
    let start = s.place("/events").unwrap();
    let mut head = [0; 28];
    file.read_exact_at(&mut head, start).unwrap();
    let field = |i: usize| u32::from_le_bytes(head[4 * i..4 * i + 4].try_into().unwrap());
    assert_eq!([0, 1, 2, 3, 4].map(field), [16, 4, 2, 23, 1]);
    assert_eq!((field(5), field(6) % 64), (64, 0));
    let mut meta = [0; 24];
    file.read_exact_at(&mut meta, start + 64 + 64).unwrap();
    assert_eq!(meta[..16], [2, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
    let schema = u64::from(u32::from_le_bytes(meta[16..20].try_into().unwrap()));
    let mut text = [0; 23];
    file.read_exact_at(&mut text, start + schema).unwrap();
    assert_eq!(&text, b"seq: u64, text: 8 bytes");
    let used = s.usage().used;
    s.remove("/events").unwrap();
    assert!(s.usage().used < used);
}

#[test]
fn the_budget_is_kept_and_refusals_change_nothing() {
    let mut s = Segment::new(1, Some(1 << 20)).unwrap();
    s.simple("/port/a", BY_PORT).unwrap();
    s.combined("/port/b", BY_PORT).unwrap();
    s.grow(BY_PORT, 1000).unwrap();
    let (used, epoch) = (s.usage().used, s.epoch());
    let full = s.grow(BY_PORT, 1 << 16).unwrap_err();
    assert!(matches!(full, Error::Full(wanted, _) if wanted == 24 * (65536 - 1000)), "{full}");
    assert!(full.to_string().contains("statistics segment is full"));
    assert!(s.simple("/port/c", Columns::fixed(1 << 20)).is_err());
    assert_eq!((s.usage().used, s.epoch()), (used, epoch));
    assert!(matches!(s.value("/port/a"), Some(Value::Simple(_, 1000))));
    assert!(s.value("/port/c").is_none());
}

#[test]
fn names_are_checked() {
    let (mut s, _) = segment();
    let epoch = s.epoch();
    let bad = |name: &str| Err(Error::BadName(name.to_owned()));
    for name in ["", "/tab\there", "/grün", &"x".repeat(128)] {
        assert_eq!(s.scalar(name).map(drop), bad(name));
    }
    s.scalar(&"x".repeat(127)).unwrap();
    assert_eq!(s.epoch(), epoch + 1);
    assert_eq!(s.remove("/no"), Err(Error::Unknown("/no".to_owned())));
    assert_eq!(s.symlink("/l", "/no", 0), Err(Error::Unknown("/no".to_owned())));
    s.scalar("/y").unwrap();
    assert_eq!(s.symlink("/l", "/y", 0), Err(Error::Unknown("/y".to_owned())));
    assert_eq!(s.rename("/y", &"x".repeat(127)), Err(Error::NameInUse("x".repeat(127))));
}

#[test]
fn readers_never_see_half_a_change() {
    let (mut s, reader) = segment();
    s.names("/port/names", 1 << 16).unwrap();
    let rx = s.combined("/port/rx", BY_PORT).unwrap();
    let reader = Arc::new(reader);
    let (stop, stopped) = mpsc::channel::<()>();
    let other = Arc::clone(&reader);
    let looking = std::thread::spawn(move || {
        let mut looks = 0;
        while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
            // A port is there with its name, counter and symlink, or not at all.
            let names = other.names().unwrap();
            let links = names.keys().filter(|n| n.starts_with("/ports/"));
            assert!(links.count() % 2 == 0);
            if let Some(counted) = other.read("/ports/p/rx").unwrap() {
                assert_eq!(counted.sum(0), 9);
            }
            looks += 1;
        }
        looks
    });
    let used = (0..10_000).map(|round| {
        let column = 1 + round % 7;
        s.grow(BY_PORT, column + 1).unwrap();
        rx.row(0)[column].add(9, 9);
        s.change(|s| {
            s.set_name("/port/names", column, "p").unwrap();
            s.symlink("/ports/p/rx", "/port/rx", column as u32).unwrap();
            s.symlink("/ports/p/rx2", "/port/rx", column as u32).unwrap();
        });
        s.change(|s| {
            s.set_name("/port/names", column, "deleted").unwrap();
            s.remove("/ports/p/rx").unwrap();
            s.remove("/ports/p/rx2").unwrap();
        });
        rx.zero(0, column..column + 1);
        let blocks = File::from(s.readable().unwrap()).metadata().unwrap().blocks();
        (s.usage().used, blocks)
    });
    let used: Vec<_> = used.collect();
    stop.send(()).unwrap();
    assert!(looking.join().unwrap() > 0);
    assert_eq!(used[100], used[9_999], "10,000 ports leak nothing");
}

#[test]
fn a_change_that_fails_half_way_ends() {
    let (mut s, reader) = segment();
    let change = || {
        s.change(|s| {
            s.scalar("/a").unwrap();
            panic!("on purpose")
        })
    };
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(change));
    assert!(failed.is_err());
    assert_eq!(read(&reader, "/a"), Sample::Number(0));
}

/// Values of a hostile writer at some places, all of which exceed the data.
#[test]
fn no_number_in_the_memory_makes_the_reader_take_more_than_the_file_has() {
    use super::layout::header;
    use proptest::prelude::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::io::ErrorKind::InvalidData;

    const SIZE: u64 = 1 << 20;
    const BASE: u64 = 0x7000_0000_0000;
    let pointer = |offset: u64| BASE + offset;
    let of = |words: &[(u64, u64)]| {
        let file = File::from(memfd_create("hostile", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(SIZE).unwrap();
        let head = [
            (8 * header::VERSION as u64, layout::VERSION),
            (8 * header::BASE as u64, BASE),
            (8 * header::EPOCH as u64, 1),
            (8 * header::DIRECTORY as u64, pointer(8192)),
            // One entry, called a.
            (8192 - 8, 1),
            (8192 + 16, u64::from(b'a')),
        ];
        for (at, word) in head.iter().chain(words) {
            file.write_all_at(&word.to_ne_bytes(), *at).unwrap();
        }
        Reader::new(file.into()).unwrap()
    };
    let entry = |kind: layout::Kind, value| vec![(8192, kind as u64), (8192 + 8, value)];
    let refused = |words: &[(u64, u64)]| {
        let reader = of(words);
        assert_eq!(reader.snapshot().unwrap_err().kind(), InvalidData, "{words:?}");
        if reader.names().is_ok() {
            assert_eq!(reader.read("a").unwrap_err().kind(), InvalidData, "{words:?}");
        }
    };
    for len in [u64::from(u32::MAX), SIZE / 144, 1 << 31] {
        refused(&[(8192 - 8, len)]);
    }
    refused(&[(8 * header::DIRECTORY as u64, u64::MAX)]);
    for kind in [layout::Kind::Simple, layout::Kind::Combined, layout::Kind::Names] {
        let mut many = entry(kind, pointer(16_384));
        many.push((16_384 - 8, u64::from(u32::MAX)));
        refused(&many);
        // Rows that are all one large vector.
        many.pop();
        many.push((16_384 - 8, 1000));
        many.extend((0..1000).map(|row| (16_384 + 8 * row, pointer(65_536))));
        many.push((65_536 - 8, 50_000));
        if kind != layout::Kind::Names {
            refused(&many);
        }
    }
    let mut ring = entry(layout::Kind::Ring, pointer(16_384));
    ring.extend([(16_384, u64::MAX << 32), (16_384 + 8, 1), (16_384 + 24, 4096)]);
    ring.push((16_384 + 8 + 64, u64::MAX));
    refused(&ring);
    // A symlink to itself.
    let link = of(&entry(layout::Kind::Symlink, 0));
    assert_eq!(link.read("a").unwrap_err().kind(), InvalidData);
    proptest!(|(words: Vec<(u16, u64)>, kind in 1_u64..10, value in 0..2 * SIZE)| {
        let small = |(at, word): &(u16, u64)| (8 * u64::from(*at) + 4096, word % (4 * SIZE));
        let mut words: Vec<_> = words.iter().map(small).collect();
        words.extend([(8192, kind), (8192 + 8, pointer(value))]);
        let reader = of(&words);
        let _ = (reader.snapshot(), reader.read("a"), reader.names());
    });
}
