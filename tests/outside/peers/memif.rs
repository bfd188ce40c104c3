//! Peers of memif.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use control::socket::ClosedElsewhere;
use drivers::memif::channel::{Address, Channel, Heard};
use drivers::memif::ring::Ring;
use drivers::memif::session::{self, Linked, Master, Reply, Step, Wish, layout};
use wire::memif::{Descriptor, ETHERNET, Message, Text};

use super::{FRAME, Wire, frame};

/// Descriptors of a ring as a power of 2, and bytes of a slot.
const LOG2: u8 = 8;
const SLOT: u32 = 2048;
/// Packets that are put into a ring at a time.
const BURST: u16 = 64;

const PAUSE: Duration = Duration::from_micros(500);

/// Connects and moves packets until it is killed.
pub fn run(is_slave: bool, socket: &str) {
    let address = Address(socket.to_owned());
    if is_slave {
        let (_channel, linked) = be_slave(connected(&address));
        let first = layout([1, 1], LOG2, SLOT).expect("it fits").1;
        let region = &linked.regions[0];
        for n in 0..1_u32 << LOG2 {
            let _ = region.copy_in((first + n * SLOT) as usize, &frame());
        }
        let rings = [linked.senders[0].ring(), linked.receivers[0].0.ring()];
        move_as_slave(rings, first);
    } else {
        let listener = address.listen().expect("nobody else listens there");
        let channel = std::iter::repeat_with(|| listener.accept()).flatten().next();
        let (_channel, linked) = be_master(channel.expect("it waits for ever"));
        move_as_master(&linked);
    }
}

/// A slave that sends and receives a frame at a time.
pub struct Slave {
    _channel: Channel,
    linked: Linked,
    /// Place of the first slot in the memory.
    first: u32,
    sent: u16,
    received: u16,
}

impl Slave {
    /// Connects to the router.
    pub fn connect(socket: &str) -> Self {
        let (channel, linked) = be_slave(connected(&Address(socket.to_owned())));
        let first = layout([1, 1], LOG2, SLOT).expect("it fits").1;
        Self { _channel: channel, linked, first, sent: 0, received: 0 }
    }
}

impl Wire for Slave {
    fn send(&mut self, frame: &[u8]) {
        let ring = self.linked.senders[0].ring();
        let slot = self.first + u32::from(self.sent & (ring.size() - 1)) * SLOT;
        let _ = self.linked.regions[0].copy_in(slot as usize, frame);
        let length = frame.len() as u32;
        ring.set_descriptor(self.sent, Descriptor { flags: 0, region: 0, length, offset: slot });
        self.sent = self.sent.wrapping_add(1);
        ring.set_head(self.sent);
        self.linked.senders[0].ring_bell();
    }
    fn receive(&mut self) -> Option<Vec<u8>> {
        let ring = self.linked.receivers[0].0.ring();
        let at = self.received;
        if ring.tail() == at {
            return None;
        }
        let full = ring.descriptor(at);
        let mut frame = vec![0; full.length as usize];
        self.linked.regions[0].copy_out(full.offset as usize, &mut frame)?;
        ring.set_descriptor(at, Descriptor { length: SLOT, ..full });
        ring.set_head(ring.head().wrapping_add(1));
        self.received = at.wrapping_add(1);
        Some(frame)
    }
}

fn connected(address: &Address) -> Channel {
    let channel = std::iter::repeat_with(|| address.connect().ok()).flatten().next();
    channel.expect("it tries for ever")
}

/// The next message of the router.
fn hear(channel: &Channel) -> (Message, Option<OwnedFd>) {
    loop {
        match channel.hear() {
            Heard::Message(message, file) => {
                return (message, file.map(ClosedElsewhere::into_inner));
            }
            Heard::Nothing => sleep(PAUSE),
            Heard::Nonsense | Heard::Closed => panic!("the router hangs up"),
        }
    }
}

fn be_slave(channel: Channel) -> (Channel, Linked) {
    let mut slave = session::Slave::new(Wish {
        id: 0,
        mode: ETHERNET,
        secret: String::new(),
        rings: [1, 1],
        log2_ring_size: LOG2,
        buffer_size: SLOT,
        interface: "peer".to_owned(),
    });
    loop {
        match slave.take(&hear(&channel).0).expect("the router says what it should") {
            Step::Say(message, file) => channel.say(&message, file).expect("it is heard"),
            Step::Connected(linked) => return (channel, linked),
            Step::Closed(why) => panic!("{why}"),
        }
    }
}

fn be_master(channel: Channel) -> (Channel, Linked) {
    channel.say(&session::hello(), None).expect("it is heard");
    let mut master = Master::default();
    loop {
        let (message, file) = hear(&channel);
        match master.take(&message, file).expect("the router says what it should") {
            Reply::Ack | Reply::Init(_) => channel.say(&Message::Ack, None).expect("it is heard"),
            Reply::Connected(linked) => {
                let name = Message::Connected(Text::of("peer"));
                channel.say(&name, None).expect("it is heard");
                return (channel, linked);
            }
            Reply::Closed(why) => panic!("{why}"),
        }
    }
}

fn move_as_slave([to, from]: [&Ring; 2], first: u32) -> ! {
    let slot = |ring: u32, at: u16, length| {
        let number = (ring << LOG2) + u32::from(at & (to.size() - 1));
        Descriptor { flags: 0, region: 0, length, offset: first + number * SLOT }
    };
    (0..to.size()).for_each(|at| to.set_descriptor(at, slot(0, at, FRAME as u32)));
    let mut given = 0_u16;
    loop {
        to.set_head(to.tail().wrapping_add(BURST));
        // What the router has filled is empty again.
        let end = from.tail().wrapping_add(from.size());
        while given != end {
            from.set_descriptor(given, slot(1, given, SLOT));
            given = given.wrapping_add(1);
        }
        from.set_head(given);
        sleep(PAUSE);
    }
}

fn move_as_master(linked: &Linked) -> ! {
    let (from, to) = (linked.receivers[0].0.ring(), linked.senders[0].ring());
    let region = Arc::clone(&linked.regions[0]);
    let mut filled = to.tail();
    loop {
        from.set_tail(from.head());
        for _ in 0..BURST {
            if filled == to.head() {
                break;
            }
            let room = to.descriptor(filled);
            let _ = region.copy_in(room.offset as usize, &frame());
            to.set_descriptor(filled, Descriptor { length: FRAME as u32, ..room });
            filled = filled.wrapping_add(1);
        }
        to.set_tail(filled);
        sleep(PAUSE);
    }
}
