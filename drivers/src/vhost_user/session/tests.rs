//! Front ends that say what cannot be.

use rustix::event::{EventfdFlags, eventfd};
use wire::vhost_user::MOST_FILES;

use super::super::machine::{SIZE, stretch};
use super::*;
use crate::shared::Region;

fn offer() -> Offer {
    Offer { gso: true, packed: true, event_idx: true, hidden: 0 }
}

fn request(number: u32, body: Body) -> Request {
    Request { number, wants_reply: false, body }
}

fn ring(number: u32, index: u32, value: u32) -> Request {
    request(number, Body::Ring(RingState { index: index.into(), number: value.into() }))
}

fn bell() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC).unwrap()
}

fn memory() -> OwnedFd {
    Region::create(SIZE).unwrap().1
}

#[track_caller]
fn refused(session: &mut Session, said: &Request, files: Vec<OwnedFd>, why: &str) {
    assert_eq!(session.take(said, files).unwrap_err().0, why);
}

#[test]
fn what_is_offered_is_what_was_asked_for() {
    let plain = Offer::default().features();
    let has = |all: u64, bit: u32| all >> bit & 1 != 0;
    assert!(has(plain, feature::MRG_RXBUF) && has(plain, feature::VERSION_1));
    for bit in [feature::CSUM, feature::HOST_TSO4, feature::RING_PACKED, feature::EVENT_IDX] {
        assert!(!has(plain, bit) && has(offer().features(), bit), "{bit}");
    }
    let hidden = 1 << feature::MRG_RXBUF;
    assert!(!has(Offer { hidden, ..offer() }.features(), feature::MRG_RXBUF));
    let mut session = Session::new(Offer::default());
    assert_eq!(session.header(), 10);
    let one = request(r::SET_FEATURES, Body::Number(1 << feature::VERSION_1));
    assert!(session.take(&one, vec![]).unwrap().is_none());
    assert_eq!(session.header(), 12);
    let not_offered = request(r::SET_FEATURES, Body::Number(1 << feature::RING_PACKED));
    refused(&mut session, &not_offered, vec![], "a feature that was not offered");
}

#[test]
fn nothing_that_cannot_be_is_taken() {
    let mut session = Session::new(offer());
    let table = |regions| request(r::SET_MEM_TABLE, Body::Table(regions));
    let all = stretch(0, SIZE);
    for (regions, files) in
        [(vec![all], vec![]), (vec![], vec![memory()]), (vec![all; 2], vec![memory()])]
    {
        refused(&mut session, &table(regions), files, "memory without a file");
    }
    let too_long = [stretch(0, SIZE + 1), stretch(0, usize::MAX), stretch(0, 0)];
    for region in too_long {
        let why = "region is longer than its file";
        refused(&mut session, &table(vec![region]), vec![memory()], why);
    }
    let why = "region is neither in tmpfs nor in hugetlbfs";
    refused(&mut session, &table(vec![all]), vec![bell()], why);
    assert!(session.table.0.is_empty());
    for (number, value) in [(r::SET_VRING_NUM, 0), (r::SET_VRING_NUM, 40_000)] {
        refused(&mut session, &ring(number, 0, value), vec![], "invalid ring size");
    }
    refused(&mut session, &ring(r::SET_VRING_NUM, 0, 3), vec![], "invalid ring size");
    for number in [r::SET_VRING_NUM, r::SET_VRING_BASE, r::GET_VRING_BASE, r::SET_VRING_ENABLE] {
        refused(&mut session, &ring(number, 128, 1), vec![], "no such ring");
    }
    let kick = |n| request(r::SET_VRING_KICK, Body::Number(n));
    refused(&mut session, &kick(!NO_FILE), vec![bell()], "no such ring");
    refused(&mut session, &kick(1), vec![memory()], "interrupt is no eventfd");
    let call = request(r::SET_VRING_CALL, Body::Number(1));
    let why = "interrupt is no eventfd";
    refused(&mut session, &call, vec![rustix::pipe::pipe().unwrap().1], why);
    assert!(session.line(1).is_none());
}

#[test]
fn memory_comes_and_goes() {
    let mut session = Session::new(offer());
    let region = |number, at| request(number, Body::Region(stretch(at, SIZE)));
    for n in 0..MOST_AREAS as u64 {
        session.take(&region(r::ADD_MEM_REG, n << 32), vec![memory()]).unwrap();
    }
    let more = region(r::ADD_MEM_REG, 1 << 40);
    refused(&mut session, &more, vec![memory()], "too many memory regions");
    refused(&mut session, &more, vec![], "memory without a file");
    session.take(&region(r::REM_MEM_REG, 3 << 32), vec![]).unwrap();
    assert_eq!(session.table.0.len(), MOST_AREAS - 1);
    session.take(&region(r::REM_MEM_REG, 3 << 32), vec![memory()]).unwrap();
    assert_eq!(session.table.0.len(), MOST_AREAS - 1);
}

#[test]
fn answers_are_given_where_they_are_asked_for() {
    let mut session = Session::new(offer());
    let mut unknown = request(77, Body::Unknown);
    unknown.wants_reply = true;
    let files = (0..MOST_FILES).map(|_| bell()).collect();
    assert!(session.take(&unknown, files).unwrap().is_none());
    let bits = Body::Number(u64::MAX);
    session.take(&request(r::SET_PROTOCOL_FEATURES, bits), vec![]).unwrap();
    assert_eq!(session.protocol, PROTOCOL);
    let last = |reply: Option<Vec<u8>>| reply.unwrap()[12];
    assert_eq!(last(session.take(&unknown, vec![]).unwrap()), 1);
    let mut base = ring(r::SET_VRING_BASE, 5, 0x1234);
    base.wants_reply = true;
    assert_eq!(last(session.take(&base, vec![]).unwrap()), 0);
    let stopped = session.take(&ring(r::GET_VRING_BASE, 5, 0), vec![]).unwrap().unwrap();
    assert_eq!(stopped[12..], [5, 0, 0, 0, 0x34, 0x12, 0, 0]);
    let count = session.take(&request(r::GET_QUEUE_NUM, Body::Nothing), vec![]).unwrap();
    assert_eq!(usize::from(last(count)), MOST_PAIRS);
}
