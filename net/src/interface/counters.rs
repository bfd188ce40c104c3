//! Counters of interfaces, under the names clients know them by.

use std::io;

use infra::counter::{Counter, Rows, Volume, VolumeCounter};
use serde::Serialize;

/// Most interfaces there may be.
pub const MAX_INTERFACES: usize = 1 << 16;

/// Rows by thread, columns by interface. Received is counted by the input node, sent by the output
/// node, and nobody else counts.
#[derive(Debug)]
pub struct Counters {
    /// Received.
    pub rx: Rows<VolumeCounter>,
    /// Sent.
    pub tx: Rows<VolumeCounter>,
    /// Dropped, by receive interface.
    pub drops: Rows<Counter>,
    /// Given to control.
    pub punt: Rows<Counter>,
    /// IPv4 packets received.
    pub ip4: Rows<Counter>,
    /// IPv6 packets received.
    pub ip6: Rows<Counter>,
    /// Lost for want of a buffer.
    pub rx_no_buf: Rows<Counter>,
    /// Lost by the device.
    pub rx_miss: Rows<Counter>,
    /// Received damaged.
    pub rx_error: Rows<Counter>,
    /// Not sent because the device refused.
    pub tx_error: Rows<Counter>,
}

impl Counters {
    pub(super) fn new(threads: usize) -> io::Result<Self> {
        let volumes = || Rows::<VolumeCounter>::new(threads, MAX_INTERFACES);
        let numbers = || Rows::<Counter>::new(threads, MAX_INTERFACES);
        Ok(Self {
            rx: volumes()?,
            tx: volumes()?,
            drops: numbers()?,
            punt: numbers()?,
            ip4: numbers()?,
            ip6: numbers()?,
            rx_no_buf: numbers()?,
            rx_miss: numbers()?,
            rx_error: numbers()?,
            tx_error: numbers()?,
        })
    }
    /// The values of one interface now, all threads together.
    pub(super) fn of(&self, index: usize) -> Values {
        Values {
            rx: self.rx.sum(index).into(),
            tx: self.tx.sum(index).into(),
            drops: self.drops.sum(index),
            punt: self.punt.sum(index),
            ip4: self.ip4.sum(index),
            ip6: self.ip6.sum(index),
            rx_no_buf: self.rx_no_buf.sum(index),
            rx_miss: self.rx_miss.sum(index),
            rx_error: self.rx_error.sum(index),
            tx_error: self.tx_error.sum(index),
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

/// What the counters of one interface say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Values {
    /// Received.
    pub rx: Traffic,
    /// Sent.
    pub tx: Traffic,
    /// Dropped.
    pub drops: u64,
    /// Given to control.
    pub punt: u64,
    /// IPv4 packets received.
    pub ip4: u64,
    /// IPv6 packets received.
    pub ip6: u64,
    /// Lost for want of a buffer.
    pub rx_no_buf: u64,
    /// Lost by the device.
    pub rx_miss: u64,
    /// Received damaged.
    pub rx_error: u64,
    /// Not sent because the device refused.
    pub tx_error: u64,
}

impl Values {
    /// What was counted since `before`.
    pub(super) fn since(self, before: &Self) -> Self {
        let traffic = |now: Traffic, then: Traffic| Traffic {
            packets: now.packets.wrapping_sub(then.packets),
            bytes: now.bytes.wrapping_sub(then.bytes),
        };
        Self {
            rx: traffic(self.rx, before.rx),
            tx: traffic(self.tx, before.tx),
            drops: self.drops.wrapping_sub(before.drops),
            punt: self.punt.wrapping_sub(before.punt),
            ip4: self.ip4.wrapping_sub(before.ip4),
            ip6: self.ip6.wrapping_sub(before.ip6),
            rx_no_buf: self.rx_no_buf.wrapping_sub(before.rx_no_buf),
            rx_miss: self.rx_miss.wrapping_sub(before.rx_miss),
            rx_error: self.rx_error.wrapping_sub(before.rx_error),
            tx_error: self.tx_error.wrapping_sub(before.tx_error),
        }
    }
    /// Names and values of those that moved, as `show interface` lists them.
    pub fn moved(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("rx packets", self.rx.packets),
            ("rx bytes", self.rx.bytes),
            ("tx packets", self.tx.packets),
            ("tx bytes", self.tx.bytes),
            ("drops", self.drops),
            ("punt", self.punt),
            ("ip4", self.ip4),
            ("ip6", self.ip6),
            ("rx-no-buf", self.rx_no_buf),
            ("rx-miss", self.rx_miss),
            ("rx-error", self.rx_error),
            ("tx-error", self.tx_error),
        ];
        all.into_iter().filter(|c| c.1 > 0).collect()
    }
}
