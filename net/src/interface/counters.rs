//! Counters of interfaces, in the statistics segment under the names clients know them by.

use std::ops::Range;

use control::stats::{Columns, Error, Segment};
use graph::Buffer;
use infra::counter::{Counter, Rows, Volume, VolumeCounter};
use serde::Serialize;

/// Most interfaces there may be.
pub const MAX_INTERFACES: usize = graph::arc::MOST_INTERFACES;
/// Columns of vectors in the statistics segment that have one for each interface.
pub const COLUMNS: Columns = Columns::growing("interface", MAX_INTERFACES);

/// Vector of the interfaces' names.
const NAMES: &str = "/if/names";
/// Name there of a deleted interface.
const DELETED: &str = "deleted";

/// Declares the counters: field, name in the segment.
macro_rules! counters {
    (
        combined { $($(#[$vdoc:meta])+ $volume:ident $vname:literal;)+ }
        simple { $($(#[$ndoc:meta])+ $number:ident $nname:literal;)+ }
    ) => {
        /// Rows by thread, columns by interface. Only the input node counts received packets, and
        /// only the output node sent ones.
        #[derive(Debug)]
        pub struct Counters {
            $($(#[$vdoc])+ pub $volume: Rows<VolumeCounter>,)+
            $($(#[$ndoc])+ pub $number: Rows<Counter>,)+
        }

        /// Names of all of them.
        const ALL: &[&str] = &[$($vname,)+ $($nname,)+];

        impl Counters {
            pub(super) fn new(stats: &mut Segment) -> Result<Self, Error> {
                stats.names(NAMES, MAX_INTERFACES)?;
                Ok(Self {
                    $($volume: stats.combined(concat!("/if/", $vname), COLUMNS)?,)+
                    $($number: stats.simple(concat!("/if/", $nname), COLUMNS)?,)+
                })
            }
            /// Sets the counters of some interfaces to zero, on the thread that counts them.
            pub(super) fn zero(&self, thread: usize, interfaces: Range<usize>) {
                $(self.$volume.zero(thread, interfaces.clone());)+
                $(self.$number.zero(thread, interfaces.clone());)+
            }
            /// The values of one interface now, all threads together.
            pub(super) fn of(&self, index: usize) -> Values {
                Values {
                    $($volume: self.$volume.sum(index).into(),)+
                    $($number: self.$number.sum(index),)+
                }
            }
        }

        /// The values of one interface's counters.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Values {
            $($(#[$vdoc])+ pub $volume: Traffic,)+
            $($(#[$ndoc])+ pub $number: u64,)+
        }

        impl Values {
            /// Names and values of those that moved, as `show interface` lists them.
            pub fn moved(&self) -> Vec<(&'static str, u64)> {
                let all = [
                    $((concat!($vname, " packets"), self.$volume.packets),
                      (concat!($vname, " bytes"), self.$volume.bytes),)+
                    $(($nname, self.$number),)+
                ];
                all.into_iter().filter(|c| c.1 > 0).collect()
            }
        }
    };
}

counters! {
    combined {
        /// Received.
        rx "rx";
        /// Received for one station; counted where `interface collect detailed-stats` is on.
        rx_unicast "rx-unicast";
        /// Received for a group; counted like the above.
        rx_multicast "rx-multicast";
        /// Received for everybody; counted like the above.
        rx_broadcast "rx-broadcast";
        /// Sent.
        tx "tx";
        /// Sent to one station; counted like the above.
        tx_unicast "tx-unicast";
        /// Sent to a group; counted like the above.
        tx_multicast "tx-multicast";
        /// Sent to everybody; counted like the above.
        tx_broadcast "tx-broadcast";
    }
    simple {
        /// Dropped, by receive interface.
        drops "drops";
        /// Given to control.
        punt "punt";
        /// IPv4 packets received.
        ip4 "ip4";
        /// IPv6 packets received.
        ip6 "ip6";
        /// Lost for want of a buffer.
        rx_no_buf "rx-no-buf";
        /// Lost by the device.
        rx_miss "rx-miss";
        /// Received damaged.
        rx_error "rx-error";
        /// Not sent because the device refused.
        tx_error "tx-error";
        /// MPLS packets received.
        mpls "mpls";
    }
}

impl Counters {
    /// Counts a frame that an interface sends, or receives, by kind of destination.
    pub fn count_kind(&self, is_sent: bool, thread: usize, index: u32, p: &Buffer<'_>) {
        let [unicast, multicast, broadcast] = if is_sent {
            [&self.tx_unicast, &self.tx_multicast, &self.tx_broadcast]
        } else {
            [&self.rx_unicast, &self.rx_multicast, &self.rx_broadcast]
        };
        let kind = match p.bytes() {
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ..] => broadcast,
            [first, ..] if first & 1 == 1 => multicast,
            _ => unicast,
        };
        if let Some(counter) = kind.row(thread).get(index as usize) {
            counter.add(1, p.total_len() as u64);
        }
    }
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl From<Volume> for Traffic {
    fn from(v: Volume) -> Self {
        Self { packets: v.packets, bytes: v.bytes }
    }
}

/// Lets clients see an interface: its columns, its name, and each counter under its own path.
pub(super) fn publish(stats: &mut Segment, index: usize, name: &str) -> Result<(), Error> {
    stats.change(|stats| {
        stats.grow(COLUMNS, index + 1)?;
        stats.set_name(NAMES, index, name)?;
        let added = ALL.iter().try_for_each(|counter| {
            let link = stats.symlink(&path(name, counter), &format!("/if/{counter}"), index as u32);
            // `a/b` and `a_b` have one path: the first one's.
            if matches!(link, Err(Error::NameInUse(_))) { Ok(()) } else { link }
        });
        if added.is_err() {
            hide(stats, index, name);
        }
        added
    })
}

/// Takes back what [`publish`] did.
pub(super) fn hide(stats: &mut Segment, index: usize, name: &str) {
    stats.change(|stats| {
        for counter in ALL {
            // One that was never there is gone too.
            let _ = stats.remove(&path(name, counter));
        }
        // A full segment keeps the old name of what is gone.
        let _ = stats.set_name(NAMES, index, DELETED);
    });
}

/// Hides the counters of deleted interfaces from number `end` on from clients, and removes some of
/// their names; returns whether there are more.
pub(super) fn shrink(stats: &mut Segment, end: usize) -> bool {
    stats.shrink(COLUMNS, end);
    stats.shrink_names(NAMES, end)
}

/// Shows clients an interface under another name.
pub(super) fn rename(stats: &mut Segment, index: usize, old: &str, new: &str) {
    stats.change(|stats| {
        for counter in ALL {
            // See above.
            let _ = stats.rename(&path(old, counter), &path(new, counter));
        }
        // A full segment keeps the old name.
        let _ = stats.set_name(NAMES, index, new);
    });
}

/// `/interfaces/<name>/<counter>`, where the name has no `/`.
fn path(name: &str, counter: &str) -> String {
    format!("/interfaces/{}/{counter}", name.replace('/', "_"))
}
