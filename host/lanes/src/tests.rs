//! Tests of both ends of a lane, with one of them hostile.

use std::net::SocketAddr;

use proptest::prelude::*;

use super::Broken;
use super::lane::{Lane, State};
use super::region::{CHUNK, CHUNKS, LINES, Region, TAKEN, WINDOW, WRITTEN, Word};
use super::stream::{In, Out};
use super::talk::{self, Message};

fn pair() -> (Lane, Lane) {
    let (router, [d, a]) = Lane::create().unwrap();
    (router, Lane::open(&d, &a).unwrap())
}

fn pattern(from: u64, n: usize) -> Vec<u8> {
    (from..from + n as u64).map(|n| (n % 251) as u8).collect()
}

#[test]
fn the_routers_region_cannot_be_mapped_for_writing_and_none_is_cut_short() {
    let (_router, [d, a]) = Lane::create().unwrap();
    assert!(Region::open(&d, super::region::Access::Own).is_err(), "sealed");
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&d));
    let again = std::fs::OpenOptions::new().read(true).write(true).open(path);
    if let Ok(again) = again {
        assert!(Region::open(&again, super::region::Access::Own).is_err(), "however it is opened");
        assert!(std::os::unix::fs::FileExt::write_at(&again, b"x", 0).is_err());
    }
    for file in [d, a] {
        assert!(std::fs::File::from(file).set_len(0).is_err());
    }
    let (other, _) = rustix::pipe::pipe().unwrap();
    assert!(Region::open(&other, super::region::Access::Other).is_err());
}

#[test]
fn a_line_is_posted_once_until_it_is_taken_so_the_ring_is_never_full() {
    let (mut router, mut program) = pair();
    for _ in 0..3 {
        (0..LINES).for_each(|line| router.post(line).unwrap());
    }
    let mut seen = Vec::new();
    while let Some(line) = program.take().unwrap() {
        seen.push(line);
    }
    assert_eq!(seen, (0..LINES).collect::<Vec<_>>());
    router.post(7).unwrap();
    assert_eq!((program.take(), program.take()), (Ok(Some(7)), Ok(None)));
}

#[test]
fn who_sleeps_is_rung_once() {
    let (mut router, mut program) = pair();
    assert!(program.must_ring(), "the router begins asleep");
    assert!(!program.must_ring());
    assert!(program.sleep());
    router.post(1).unwrap();
    assert!(router.must_ring() && !router.must_ring());
    assert!(!program.sleep(), "there is something");
    assert_eq!(program.take(), Ok(Some(1)));
    assert!(program.sleep() && router.must_ring());
    program.wake();
    assert!(!router.must_ring());
}

#[test]
fn rings_that_cannot_be_are_refused() {
    for (word, value) in [(WRITTEN, u64::MAX), (WRITTEN, u64::from(LINES) + 1), (TAKEN, 5)] {
        let (mut router, program) = pair();
        program.own.store(word, value);
        let done = [router.take().map(drop), router.post(0)];
        assert!(done.contains(&Err(Broken)), "word {word}");
    }
    let (mut router, program) = pair();
    program.own.store(Region::entry(0), u64::from(LINES));
    program.own.store(WRITTEN, 1);
    assert_eq!(router.take(), Err(Broken), "no such line");
    let (mut router, mut program) = pair();
    router.post(1).unwrap();
    program.take().unwrap();
    router.post(1).unwrap();
    program.own.store(TAKEN, 0);
    assert_eq!(router.post(2), Err(Broken), "it went back");
}

#[test]
fn streams_that_cannot_be_are_refused() {
    let (mut router, program) = pair();
    let (mut read, mut write) = (In::default(), Out::new(1000));
    write.write(&mut router, 3, b"abc").unwrap();
    program.own.set(3, Word::Taken, 1);
    assert_eq!(write.space(&mut router, 3), Err(Broken), "not published");
    write.publish(&router, 3);
    assert_eq!(write.space(&mut router, 3), Ok(998));
    for taken in [0, 4, u64::MAX] {
        program.own.set(3, Word::Taken, taken);
        assert_eq!(write.space(&mut router, 3), Err(Broken), "taken {taken}");
    }
    for written in [WINDOW as u64 + 1, u64::MAX] {
        program.own.set(3, Word::Written, written);
        assert_eq!(read.available(&router, 3), Err(Broken), "written {written}");
    }
    program.own.set(3, Word::Written, 10);
    program.own.set_chunk(3, 0, CHUNKS, 0);
    assert_eq!(read.available(&router, 3), Ok(10));
    assert_eq!(read.copy(&router, 3, 0, &mut [0; 10]), Err(Broken), "no such chunk");
    program.own.set(3, Word::Written, 9);
    assert_eq!(read.available(&router, 3), Err(Broken), "it went back");
}

#[test]
fn half_a_datagram_is_taken_back() {
    let (mut router, program) = pair();
    let (mut read, mut write) = (In::default(), Out::new(3 * CHUNK));
    write.write(&mut router, 0, &pattern(0, CHUNK + 10)).unwrap();
    write.publish(&router, 0);
    write.write(&mut router, 0, &pattern(0, CHUNK)).unwrap();
    assert_eq!(router.used(), 3);
    write.rewind(&mut router);
    assert_eq!((router.used(), write.len()), (2, CHUNK + 10));
    write.write(&mut router, 0, b"end").unwrap();
    write.publish(&router, 0);
    let mut got = vec![0; 2 * CHUNK];
    assert_eq!(read.available(&program, 0), Ok(CHUNK + 13));
    assert_eq!(read.copy(&program, 0, 0, &mut got), Ok(CHUNK + 13));
    assert_eq!(&got[CHUNK + 10..CHUNK + 13], b"end");
    read.consume(&program, 0, CHUNK + 13);
    assert_eq!((write.space(&mut router, 0), router.used()), (Ok(3 * CHUNK), 0));
}

#[test]
fn chunks_run_out_and_come_back() {
    let (mut router, program) = pair();
    let mut all: Vec<_> = (0..80).map(|_| (In::default(), Out::new(WINDOW))).collect();
    let bytes = vec![1; WINDOW];
    let mut total = 0;
    for (line, (_, write)) in (0..).zip(&mut all) {
        total += write.write(&mut router, line, &bytes).unwrap();
        write.publish(&router, line);
    }
    assert_eq!((total, router.used()), (CHUNKS as usize * CHUNK, CHUNKS as usize));
    for (line, (read, write)) in (0..).zip(&mut all) {
        let n = read.available(&program, line).unwrap();
        read.consume(&program, line, n);
        write.space(&mut router, line).unwrap();
    }
    assert_eq!(router.used(), 0);
}

#[test]
fn messages_are_read_as_they_were_written() {
    let message = Message {
        token: 7,
        value: -3,
        number: u64::MAX,
        sizes: [1, 2],
        end: "[2001:db8::1]:443".parse().unwrap(),
        name: "program".to_owned(),
        namespace: "n".repeat(63),
        ..Message::new(talk::LISTEN)
    };
    let mut bytes = message.to_bytes();
    assert_eq!(Message::parse(&bytes), Some(message));
    assert_eq!(Message::parse(&bytes[1..]), None);
    bytes[0] = 1;
    assert_eq!(Message::parse(&bytes), None);
    let end: SocketAddr = "10.0.0.1:5".parse().unwrap();
    assert_eq!(talk::datagram_of(&talk::datagram(9, end)), (9, end));
    let state = State { generation: 5, error: 111, bits: 3 };
    assert_eq!(State::of(state.word()), state);
}

/// A step of either side, which the other side may observe at any time.
#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Publish,
    Read(usize),
    Space,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1usize..40_000).prop_map(Step::Write),
        Just(Step::Publish),
        (1usize..40_000).prop_map(Step::Read),
        Just(Step::Space),
    ]
}

proptest! {
    #[test]
    fn bytes_come_as_they_were_written(
        steps in prop::collection::vec(step(), 1..200), limit in 1usize..2 * WINDOW,
    ) {
        let (mut router, program) = pair();
        let (mut read, mut write) = (In::default(), Out::new(limit));
        for step in steps {
            match step {
                Step::Write(n) => {
                    let bytes = pattern(write.written(), n);
                    let done = write.write(&mut router, 9, &bytes).unwrap();
                    prop_assert!(done == n || write.len() == write.limit());
                }
                Step::Publish => write.publish(&router, 9),
                Step::Read(n) => {
                    let mut got = vec![0; n];
                    read.available(&program, 9).unwrap();
                    let done = read.copy(&program, 9, 0, &mut got).unwrap();
                    prop_assert_eq!(&got[..done], &pattern(read.taken(), done)[..]);
                    read.consume(&program, 9, done);
                }
                Step::Space => {
                    let space = write.space(&mut router, 9).unwrap();
                    prop_assert_eq!(space, write.limit() - write.len());
                }
            }
            prop_assert!(router.used() <= write.len() / CHUNK + 2);
        }
    }

    #[test]
    fn any_words_of_the_program_are_streams_or_refused(
        words in prop::collection::vec((0usize..4000, any::<u64>(), 0u8..4), 1..100),
    ) {
        let (mut router, program) = pair();
        let (mut read, mut write) = (In::default(), Out::new(50_000));
        for (at, value, kind) in words {
            match kind {
                0 => program.own.store(at, value),
                1 => program.own.store(at, value % 70_000),
                2 => program.own.set(1, Word::Written, value % 70_000),
                _ => program.own.set(1, Word::Taken, value % 70_000),
            }
            let mut room = vec![0; 3000];
            if read.available(&router, 1).is_ok()
                && let Ok(n) = read.copy(&router, 1, 0, &mut room)
            {
                read.consume(&router, 1, n);
            }
            let _ = write.write(&mut router, 1, &room);
            if value % 3 == 0 {
                write.publish(&router, 1);
            } else {
                write.rewind(&mut router);
            }
            let _ = (router.take(), router.post(1), router.sleep(), router.must_ring());
        }
    }
}

#[test]
fn both_sides_at_once_miss_nothing() {
    let (mut router, mut program) = pair();
    let total = 30_000_000u64;
    let reader = std::thread::spawn(move || {
        let mut read = In::default();
        let mut room = vec![0; 10_000];
        while read.taken() < total {
            // A lost wakeup would hang the test.
            while program.take().unwrap().is_some() {}
            while read.available(&program, 5).unwrap() > 0 {
                let n = read.copy(&program, 5, 0, &mut room).unwrap();
                assert_eq!(room[..n], pattern(read.taken(), n)[..]);
                read.consume(&program, 5, n);
                program.post(5).unwrap();
            }
            std::thread::yield_now();
        }
    });
    let mut write = Out::new(100_000);
    while write.written() < total {
        let n = (total - write.written()).min(7777) as usize;
        let bytes = pattern(write.written(), n);
        if write.write(&mut router, 5, &bytes).unwrap() > 0 {
            write.publish(&router, 5);
            router.post(5).unwrap();
        } else {
            // Only an entry in the ring ends the wait.
            while router.take().unwrap().is_none() {
                std::thread::yield_now();
            }
        }
    }
    reader.join().unwrap();
}

#[test]
fn scribbling_while_it_is_read_harms_nothing() {
    let (mut router, program) = pair();
    let scribbler = std::thread::spawn(move || {
        for round in 0..200_000u64 {
            let word = (round.wrapping_mul(0x9E37_79B9) % 9000) as usize;
            program.own.store(word, round.wrapping_mul(0x2545_F491_4F6C_DD1D) >> (round % 60));
            program.own.write((round % 64) as u32, 0, &[round as u8; 64]);
        }
    });
    let mut endings = 0;
    while !scribbler.is_finished() {
        let (mut read, mut write) = (In::default(), Out::new(50_000));
        for line in 0..64 {
            let mut room = [0; 5000];
            let done = read
                .available(&router, line)
                .and_then(|_| read.copy(&router, line, 0, &mut room))
                .and_then(|_| write.write(&mut router, line, &room));
            endings += u64::from(done.is_err());
            let _ = (router.take(), router.post(line));
            write.clear(&mut router);
        }
    }
    scribbler.join().unwrap();
    assert!(endings > 0, "some of it was impossible");
    assert_eq!(router.used(), 0);
}

#[test]
fn a_long_name_is_cut_between_characters() {
    for (name, kept) in
        [("ä".repeat(40), 62), (format!("x{}", "€".repeat(30)), 61), ("n".repeat(70), 63)]
    {
        let bytes = Message { name: name.clone(), ..Message::new(talk::HELLO) }.to_bytes();
        let heard = Message::parse(&bytes).expect("it is a message");
        assert_eq!(heard.name, name[..kept]);
    }
}
