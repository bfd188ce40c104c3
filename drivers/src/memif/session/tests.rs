//! Handshakes that go wrong.

use wire::memif::VERSION;

use super::*;

fn init() -> Message {
    Message::Init(Init {
        version: VERSION.into(),
        id: 0.into(),
        mode: memif::ETHERNET,
        secret: Text::of(""),
        name: Text::of("test"),
    })
}

fn region(index: u16, size: u64) -> Message {
    Message::AddRegion(AddRegion { index: index.into(), size: size.into() })
}

fn ring(flags: u16, index: u16, region: u16, offset: u32, log2: u8) -> Message {
    Message::AddRing(AddRing {
        flags: flags.into(),
        index: index.into(),
        region: region.into(),
        offset: offset.into(),
        log2_ring_size: log2,
        private_header: 0.into(),
    })
}

fn bell() -> OwnedFd {
    rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap()
}

fn memory() -> OwnedFd {
    let (region, file) = Region::create(65_536).unwrap();
    for number in 0..4 {
        Ring::new(Arc::new(Region::open(&file, 65_536).unwrap()), number * 2048, 4)
            .iter()
            .for_each(Ring::begin);
    }
    drop(region);
    file
}

#[track_caller]
fn refused(said: Vec<(Message, Option<OwnedFd>)>, why: &str) {
    let (mut master, count) = (Master::default(), said.len());
    for (n, (message, file)) in said.into_iter().enumerate() {
        match master.take(&message, file) {
            Ok(_) => assert!(n + 1 < count, "taken, though {why}"),
            Err(refused) => {
                assert_eq!((n + 1, refused.0.as_str()), (count, why));
                assert!(matches!(refused.to_message(), Message::Disconnect(_)));
            }
        }
    }
}

#[test]
fn a_master_takes_nothing_that_is_out_of_order_or_place() {
    let connect = || (Message::Connect(Text::of("x")), None);
    let begun = || vec![(init(), None), (region(0, 65_536), Some(memory()))];
    let with = |more: Vec<_>| begun().into_iter().chain(more).collect::<Vec<_>>();
    refused(vec![(region(0, 4096), Some(memory()))], "unexpected message");
    refused(vec![connect()], "unexpected message");
    refused(vec![(init(), None), (init(), None)], "unexpected message");
    refused(vec![(hello(), None)], "unexpected message");
    refused(vec![(init(), None), (region(0, 4096), None)], "region without a file");
    refused(vec![(init(), None), (region(1, 4096), Some(memory()))], "invalid region index");
    let why = "region is longer than its file";
    refused(vec![(init(), None), (region(0, 65_537), Some(memory()))], why);
    refused(vec![(init(), None), (region(0, u64::MAX), Some(memory()))], why);
    let why = "region is not sealed against shrinking";
    refused(vec![(init(), None), (region(0, 4096), Some(bell()))], why);
    refused(with(vec![(region(0, 4096), Some(memory()))]), "invalid region index");
    refused(with(vec![(ring(1, 0, 0, 0, 4), None)]), "ring without an interrupt");
    refused(with(vec![(ring(1, 1, 0, 0, 4), Some(bell()))]), "invalid ring index");
    refused(with(vec![(ring(1, 0, 0, 0, 15), Some(bell()))]), "invalid ring size");
    let one = |m| with(vec![(m, Some(bell())), connect()]);
    refused(one(ring(1, 0, 1, 0, 4)), "ring outside all regions");
    refused(one(ring(1, 0, 0, 65_536 - 128, 4)), "ring outside of its region");
    refused(one(ring(0, 0, 0, u32::MAX, 4)), "ring outside of its region");
    refused(one(ring(0, 0, 0, 4, 4)), "ring outside of its region");
    refused(one(ring(0, 0, 0, 8, 4)), "wrong cookie");
    let Message::Init(mut old) = init() else { unreachable!() };
    old.version = 0x0100.into();
    refused(vec![(Message::Init(old), None)], "unsupported version");
}

#[test]
fn a_slave_waits_for_each_answer() {
    let wish = Wish {
        id: 3,
        mode: memif::IP,
        secret: "s".to_owned(),
        rings: [2, 300],
        log2_ring_size: 10,
        buffer_size: 2048,
        interface: "memif0/3".to_owned(),
    };
    let mut slave = Slave::new(wish.clone());
    assert!(slave.take(&Message::Ack).is_err());
    assert!(slave.take(&Message::Connected(Text::of("x"))).is_err());
    let Message::Hello(mut all) = hello() else { unreachable!() };
    all.max_to_slave = 1.into();
    all.max_log2_ring_size = 5;
    let mut master = Master::default();
    let mut step = slave.take(&Message::Hello(all)).unwrap();
    assert!(slave.take(&Message::Hello(all)).is_err());
    let (mut rings, linked) = (
        0,
        loop {
            let Step::Say(message, file) = step else { panic!("{step:?}") };
            let file = file.map(|f| rustix::io::dup(&*f).unwrap());
            match master.take(&message, file).unwrap() {
                Reply::Connected(linked) => break linked,
                Reply::Ack | Reply::Init(_) => (),
                Reply::Closed(why) => panic!("{why}"),
            }
            step = slave.take(&Message::Ack).unwrap();
        },
    );
    rings += linked.receivers.len();
    assert_eq!((rings, linked.senders.len()), (2, 2));
    assert_eq!(linked.senders[0].ring().size(), 32);
    assert!(slave.take(&Message::Ack).is_err());
    let Step::Connected(ours) = slave.take(&Message::Connected(Text::of("y"))).unwrap() else {
        panic!("not connected")
    };
    assert_eq!((ours.interface.as_str(), ours.receivers.len(), ours.senders.len()), ("y", 2, 2));
    assert!(slave.take(&Message::Connected(Text::of("y"))).is_err());
    all.min_version = 0x0300.into();
    all.max_version = 0x0300.into();
    assert_eq!(Slave::new(wish).take(&Message::Hello(all)).unwrap_err().0, "unsupported version");
}
