//! Forms of capture files: the newer one with names and reasons, and the classic one of
//! `pcap trace` and `pcap dispatch trace`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::copies::{Link, PacketCopy, Place};
use super::{dispatch, pcapng};
use crate::pcap;

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

/// Names of what copies have numbers of.
#[derive(Default)]
pub struct Names {
    /// Nodes.
    pub nodes: HashMap<u32, String>,
    /// Interfaces.
    pub interfaces: HashMap<u32, String>,
    /// Reasons of drops: `node: reason`.
    pub reasons: HashMap<u32, String>,
}

fn name(names: &HashMap<u32, String>, number: u32) -> &str {
    names.get(&number).map_or("DELETED", String::as_str)
}

/// The form of a file.
pub enum Kind {
    /// Ethernet frames, dropped ones with the reason after them.
    Trace,
    /// Packets at nodes, with what their buffers say in front of them.
    Dispatch,
    /// Interfaces, packets and comments.
    NextGeneration {
        /// The filter, as it was given; empty for none.
        filter: String,
        /// Captured packets, in words.
        about: String,
    },
}

/// A form and what it needs to know.
pub struct Form {
    /// Kind of the object.
    pub kind: Kind,
    /// Nanoseconds from 1970 to the start of the router's clock.
    pub epoch: u64,
    /// Maximum bytes per packet.
    pub most_bytes: usize,
    /// Names there are.
    pub names: Arc<Names>,
    /// Interfaces of the file, in order of their numbers in it.
    pub interfaces: Vec<(u32, Link)>,
}

impl Form {
    /// The start of a file.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.interfaces.clear();
        match &self.kind {
            Kind::Trace => out.extend(pcap::header(pcap::ETHERNET)),
            Kind::Dispatch => out.extend(pcap::header(dispatch::LINK)),
            Kind::NextGeneration { about, .. } => pcapng::section(out, about),
        }
    }
    /// A packet.
    pub fn packet(&mut self, out: &mut Vec<u8>, copy: &PacketCopy) {
        let names = Arc::clone(&self.names);
        let (front, behind) = match &self.kind {
            Kind::NextGeneration { .. } => return self.next_generation(out, copy, &names),
            Kind::Dispatch => {
                let node = name(&names.nodes, copy.node.0);
                let head = copy.visit.as_ref().map(|visit| visit.head(&copy.bytes, node));
                (head.unwrap_or_default(), String::new())
            }
            Kind::Trace if copy.place == Place::Drop => {
                let reason = names.reasons.get(&copy.reason).map(|text| format!("{text}\0"));
                (Vec::new(), reason.unwrap_or_default())
            }
            Kind::Trace => (Vec::new(), String::new()),
        };
        let len = copy.len + front.len() + behind.len();
        let parts = [front.as_slice(), &copy.bytes, behind.as_bytes()];
        let seconds = (self.epoch + copy.at) as f64 / SECOND;
        pcap::append(out, seconds, len, parts.into_iter());
    }
    fn next_generation(&mut self, out: &mut Vec<u8>, copy: &PacketCopy, names: &Names) {
        let own = (copy.interface, copy.link);
        let known = self.interfaces.iter().position(|known| *known == own);
        let interface = known.unwrap_or_else(|| {
            self.describe(out, own, names);
            self.interfaces.len() - 1
        });
        let node = name(&names.nodes, copy.node.0);
        let mut comment = format!("node {node}, thread {}", copy.thread);
        if copy.place == Place::Drop {
            let reason = name(&names.reasons, copy.reason);
            write!(comment, ", dropped: {reason}").expect("writing to a string cannot fail");
        }
        let packet = pcapng::Packet {
            interface: interface as u32,
            at: self.epoch + copy.at,
            bytes: &copy.bytes,
            len: copy.len,
            comes_in: match copy.place {
                Place::Rx => Some(true),
                Place::Tx => Some(false),
                Place::Drop | Place::Node => None,
            },
            comment: &comment,
        };
        packet.append(out);
    }
    fn describe(&mut self, out: &mut Vec<u8>, (number, link): (u32, Link), names: &Names) {
        let Kind::NextGeneration { filter, .. } = &self.kind else { return };
        let about = match link {
            Link::ETHERNET => "",
            Link::RAW => "packets without a layer 2 header",
            _ => "packets that begin with another header",
        };
        let interface = pcapng::Interface {
            link: link.0,
            most_bytes: self.most_bytes,
            name: name(&names.interfaces, number),
            about,
            filter,
        };
        interface.describe(out);
        self.interfaces.push((number, link));
    }
    /// The end of a file, at this time of the router's clock; `lost` copies are not in any.
    pub fn end(&self, out: &mut Vec<u8>, now: u64, lost: u64) {
        if !matches!(self.kind, Kind::NextGeneration { .. }) || self.interfaces.is_empty() {
            return;
        }
        // Who lost a copy does not know its interface: the first one stands for all.
        pcapng::statistics(out, 0, self.epoch + now, lost, "lost copies of all interfaces");
    }
}
