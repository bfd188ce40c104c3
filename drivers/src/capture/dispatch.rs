//! Every packet at every node it is given to, in records of their own
//! (<https://www.tcpdump.org/linktypes/LINKTYPE_VPP_DISPATCH.html>).

use std::sync::Arc;

use graph::{Buffer, NodeIndex, PacketContext, Watcher};

use super::copies::{Lanes, Link, PacketCopy, Place};
use super::points::{keep, nanoseconds};
use crate::snapshot::Snapshot;

/// The type of these records in capture files.
pub const LINK: u32 = 280;
/// Maximum bytes per packet.
pub const MOST_BYTES: usize = 16_384;

/// A packet at a node, beside its bytes.
pub struct Visit {
    buffer: u32,
    interfaces: [u32; 2],
    flags: u32,
    snapshot: Snapshot,
}

/// Copies every packet at every node.
pub struct Dispatches {
    /// Lanes of the copies.
    pub lanes: Arc<Lanes>,
}

impl Watcher for Dispatches {
    fn see(&self, node: NodeIndex, p: &Buffer<'_>, context: PacketContext<'_>) {
        let len = p.total_len();
        let size = len.min(MOST_BYTES);
        self.lanes.send(context.thread, size, || PacketCopy {
            at: nanoseconds(context.now),
            node,
            place: Place::Node,
            thread: context.thread,
            interface: p.rx(),
            link: Link::OTHER,
            reason: 0,
            len,
            bytes: keep(size, p.segments()),
            visit: Some(Box::new(Visit {
                buffer: p.index(),
                interfaces: [p.rx(), p.tx()],
                flags: p.flags().0,
                snapshot: Snapshot::of(p),
            })),
        });
    }
}

impl Visit {
    /// Bytes in front of the packet, given the name of the node: version, count of texts, kind of
    /// the packet's first header, the buffer's number, and the texts.
    pub fn head(&self, packet: &[u8], node: &str) -> Vec<u8> {
        const VERSION: [u8; 2] = [1, 0];
        let [rx, tx] = self.interfaces;
        let texts = [
            node.to_owned(),
            format!("{}, flags {:#010x}", self.snapshot, self.flags),
            format!("sw_if_index[VLIB_RX]: {rx}, sw_if_index[VLIB_TX]: {}", tx.cast_signed()),
            self.snapshot.layers(),
        ];
        let mut head = [VERSION.as_slice(), &[texts.len() as u8, hint(node, packet)]].concat();
        head.extend(self.buffer.to_be_bytes());
        for text in texts {
            head.extend(text.bytes().chain([0]));
        }
        head
    }
}

/// First header of the packets of a node: 1 for Ethernet, 2 for IPv4, 3 for IPv6, 0 if that is not
/// known.
fn hint(node: &str, packet: &[u8]) -> u8 {
    let version = packet.first().map_or(0, |b| b >> 4);
    if node == "ethernet-input" || node.ends_with("-output") || node.ends_with("-tx") {
        return 1;
    }
    match version {
        4 if node.starts_with("ip4-") => 2,
        6 if node.starts_with("ip6-") => 3,
        _ => 0,
    }
}
