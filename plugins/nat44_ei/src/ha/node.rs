//! `nat44-ei-ha`: messages of the other router, read and given to control.

use net::prelude::*;

use super::format::{Change, Header, VERSION};

pub(super) const NAME: &str = "nat44-ei-ha";

/// Of a message: its changes, then its header.
#[derive(Clone, Copy, Debug)]
pub enum Received {
    /// A change, on this thread.
    Change(usize, Change),
    /// The source and destination of the message received on this thread.
    End {
        /// The thread.
        thread: usize,
        /// Its header.
        header: Header,
        /// Its sender.
        from: (Ipv4Addr, u16),
        /// The address it came to.
        to: Ipv4Addr,
        /// The interface it came by.
        rx: InterfaceIndex,
    },
}

impl Event for Received {
    const ROOM: usize = 8192;
}

/// Reads messages.
#[derive(Clone)]
pub struct Input(pub EventSender<Received>);

/// Reasons why a message is not taken.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// bad-version.
    #[name("bad-version")]
    BadVersion,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// pkts-processed.
    #[name("pkts-processed")]
    Processed,
}

/// The source of the datagram whose payload begins at the current bytes, and its destination.
fn ends(p: &graph::Buffer<'_>) -> Option<((Ipv4Addr, u16), Ipv4Addr)> {
    let ip = ip4::Header::ref_from_prefix(p.bytes_from(p.l3_offset())).ok()?.0;
    let udp = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?.0;
    Some(((ip.src_addr(), udp.src_port.get()), ip.dst_addr()))
}

/// The message in some bytes, if they are one: also a cut one is of no known version.
fn parse(bytes: &[u8]) -> Option<(Header, &[Change])> {
    let (header, rest) = Header::read_from_prefix(bytes).ok()?;
    let (changes, _) =
        <[Change]>::ref_from_prefix_with_elems(rest, header.count.get().into()).ok()?;
    (header.version == VERSION).then_some((header, changes))
}

impl Node for Input {
    const NAME: &'static str = NAME;
    type Next = Infallible;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (thread, mut count) = (frame.thread(), 0);
        frame.consume(|p| {
            let (from, to) = ends(p).ok_or(Error::BadVersion)?;
            let (header, changes) = parse(p.bytes()).ok_or(Error::BadVersion)?;
            // What finds no room is missing when control counts, and the sender repeats it all.
            for change in changes {
                self.0.send(Received::Change(thread, *change));
            }
            let rx = InterfaceIndex(p.rx());
            self.0.send(Received::End { thread, header, from, to, rx });
            count += 1;
            Ok(())
        });
        frame.count(Count::Processed, count);
    }
}
