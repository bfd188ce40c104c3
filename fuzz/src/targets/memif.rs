//! The control channel of memif, and the memory that is shared afterwards.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use drivers::memif::channel::{Address, Channel, Heard};
use drivers::memif::ring::Ring;
use drivers::memif::session::{self, Linked, Master, Reply, Slave, Step, Wish};
use drivers::shared::Region;
use net::Assembly;
use wire::memif::{ETHERNET, MESSAGE, Message};

use crate::Target;

/// Bytes of a region that is handed over.
const REGION: usize = 16_384;
/// Bytes in front of the descriptors of a ring, and those of the rings of [`wish`].
const HEADER: usize = wire::memif::RING_HEADER;
const DESCRIPTORS: usize = wire::memif::DESCRIPTOR << 6;
/// Turns of control that connecting may take.
const MOST_TURNS: usize = 5000;

/// An even first byte: what follows are messages for both sides of a handshake, each with a file.
/// An odd one: it is written over the descriptors that a router shares with a slave, and the words
/// that say how much is in the rings move.
pub struct Memif {
    parts: Assembly,
    address: Address,
    peer: Option<(Channel, Linked)>,
}

impl Memif {
    /// A router with one interface, a master.
    pub fn new() -> Self {
        let mut parts = super::router(1);
        let address = Address(format!("@ferrovia-fuzz-memif-{}", std::process::id()));
        let lines = format!(
            "create memif socket id 1 filename {}\ncreate interface memif socket-id 1 master\n\
             set interface state memif1/0 up\nset interface ip address memif1/0 10.0.0.1/24\n",
            address.0
        );
        let reply = parts.cli.run(&mut parts.router, &lines);
        assert!(reply.result.is_ok(), "{}", reply.text());
        Self { parts, address, peer: None }
    }
    /// A slave that is connected.
    fn connect(&mut self) -> Result<(Channel, Linked), String> {
        let channel = self.address.connect().map_err(|e| e.to_string())?;
        let mut slave = Slave::new(wish());
        for _ in 0..MOST_TURNS {
            self.parts.router.run_due();
            while let Heard::Message(message, _) = channel.hear() {
                match slave.take(&message).map_err(|e| e.to_string())? {
                    Step::Say(message, file) => {
                        channel.say(&message, file).map_err(|e| e.to_string())?;
                    }
                    Step::Connected(linked) => {
                        // The router's end follows in the same turn.
                        self.parts.router.run_due();
                        return Ok((channel, linked));
                    }
                    Step::Closed(why) => return Err(why),
                }
            }
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        Err("no connection".to_owned())
    }
    fn overwrite(&mut self, input: &[u8]) -> Result<(), String> {
        if self.peer.is_none() {
            self.peer = Some(self.connect()?);
        }
        let Some((_, linked)) = &self.peer else { return Ok(()) };
        let (rx, tx) = (linked.receivers[0].0.ring(), linked.senders[0].ring());
        let region = &linked.regions[0];
        if let Some((at, bytes)) = input.split_first_chunk::<2>() {
            // Descriptors of either ring; how far the router is stays known.
            let at = usize::from(u16::from_le_bytes(*at));
            let ring = if at.is_multiple_of(2) { 0 } else { HEADER + DESCRIPTORS };
            let place = at / 2 % DESCRIPTORS;
            let bytes = &bytes[..bytes.len().min(DESCRIPTORS - place)];
            let _ = region.copy_in(ring + HEADER + place, bytes);
        }
        tx.set_head(tx.tail().wrapping_add(u16::from(*input.last().unwrap_or(&1)) % 80));
        rx.set_head(rx.tail().wrapping_add(u16::from(*input.first().unwrap_or(&1)) % 80));
        let engine = &mut self.parts.router.engine;
        if let Some(node) = engine.index_of("memif1/0-tx") {
            engine.inject(0, node, vec![7; 1 + input.len() * 4], |_| ());
        }
        engine.run_inline(16);
        let used = engine.buffers_used().unwrap_or(0);
        if used > 0 { Err(format!("{used} buffers are lost")) } else { Ok(()) }
    }
}

impl Default for Memif {
    fn default() -> Self {
        Self::new()
    }
}

fn wish() -> Wish {
    Wish {
        id: 0,
        mode: ETHERNET,
        secret: String::new(),
        rings: [1, 1],
        log2_ring_size: 6,
        buffer_size: 256,
        interface: "fuzz".to_owned(),
    }
}

/// A region that begins with rings.
fn memory() -> OwnedFd {
    let (region, file) = Region::create(REGION).expect("memory for a region");
    let region = Arc::new(region);
    let rings = (0..4).filter_map(|n| Ring::new(Arc::clone(&region), n * 512, 4));
    rings.for_each(|ring| ring.begin());
    file
}

fn handshakes(input: &[u8]) {
    let (mut master, mut slave) = (Master::default(), Slave::new(wish()));
    let mut said = Vec::new();
    for bytes in input.chunks(MESSAGE) {
        let mut whole = [0; MESSAGE];
        whole[..bytes.len()].copy_from_slice(bytes);
        let Some(message) = Message::parse(&whole) else { continue };
        said.push(message.to_bytes());
        if let Ok(Reply::Connected(mut linked)) = master.take(&message, Some(memory())) {
            linked.receivers.iter_mut().for_each(|(receiver, _)| {
                receiver.skip();
            });
        }
        let _ = slave.take(&message);
    }
    assert!(said.iter().all(|bytes| Message::parse(bytes).is_some()), "what was read is written");
}

impl Target for Memif {
    const NAME: &'static str = "memif";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut slave = Slave::new(wish());
        let mut all = vec![0];
        let mut step = slave.take(&session::hello());
        while let Ok(Step::Say(message, _)) = step {
            all.extend(message.to_bytes());
            step = slave.take(&Message::Ack);
        }
        let mut hello = vec![0];
        hello.extend(session::hello().to_bytes());
        hello.extend(Message::Ack.to_bytes());
        let descriptors = [1, 128, 0, 1, 0, 0, 0, 60, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 3];
        vec![all, hello, descriptors.to_vec(), vec![1, 4, 0, 1, 0, 64]]
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        match input.split_first() {
            Some((kind, rest)) if kind % 2 == 0 => {
                handshakes(rest);
                Ok(())
            }
            Some((_, rest)) => self.overwrite(rest),
            None => Ok(()),
        }
    }
}
