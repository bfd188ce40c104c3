//! Every packet at every node it is given to, in records of their own
//! (<https://www.tcpdump.org/linktypes/LINKTYPE_VPP_DISPATCH.html>).

use graph::{Buffer, NodeIndex, PacketContext, Watcher};

use super::store::Store;
use crate::snapshot::Snapshot;

/// The type of these records in capture files.
pub const LINK: u32 = 280;
/// Bytes of a packet at most.
pub const MOST_BYTES: usize = 16_384;

/// A packet at a node.
pub struct Visit {
    /// The node.
    pub node: NodeIndex,
    buffer: u32,
    interfaces: [u32; 2],
    flags: u32,
    snapshot: Snapshot,
}

/// Keeps visits.
pub struct Dispatches {
    /// Those so far.
    pub store: Store<Visit>,
}

impl Watcher for Dispatches {
    fn see(&self, node: NodeIndex, p: &Buffer<'_>, context: PacketContext<'_>) {
        let visit = Visit {
            node,
            buffer: p.index(),
            interfaces: [p.rx(), p.tx()],
            flags: p.flags().0,
            snapshot: Snapshot::of(p),
        };
        self.store.keep(context.now, visit, p.total_len(), p.segments());
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
