//! The configuration of reassembly.
#![forbid(unsafe_code)]

use serde::Serialize;

use super::Kind;

/// Limits of one kind of reassembly of one family.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Seconds until an incomplete packet is given up.
    pub timeout: f64,
    /// Packets at the same time, at one place on one thread.
    pub most: u32,
    /// Maximum fragments per packet.
    pub longest: u32,
    /// Seconds between two looks for packets to be given up.
    pub walk: f64,
}

impl Config {
    /// Full reassembly, to begin with: enough for the longest packet over Ethernet.
    pub const FULL: Self = Self { timeout: 0.2, most: 1024, longest: 64, walk: 0.05 };
    /// Shallow virtual reassembly, to begin with.
    pub const SHALLOW: Self = Self { timeout: 0.1, most: 1024, longest: 64, walk: 0.05 };
}

/// The configuration of the nodes; pairs are for IPv4 and IPv6.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Full reassembly.
    pub full: [Config; 2],
    /// Shallow virtual reassembly.
    pub shallow: [Config; 2],
    /// Whether fragments for this router are put together.
    pub local: [bool; 2],
    /// Whether fragments of shallow reassembly wait for the last one as well as the first.
    pub extended: [bool; 2],
}

impl Settings {
    /// The limits of a kind; `family` is 0 for IPv4, 1 for IPv6.
    pub fn of(&self, family: usize, kind: Kind) -> Config {
        match kind {
            Kind::Full => self.full[family],
            Kind::Shallow => self.shallow[family],
        }
    }
    /// Mutable access to it.
    pub fn of_mut(&mut self, family: usize, kind: Kind) -> &mut Config {
        match kind {
            Kind::Full => &mut self.full[family],
            Kind::Shallow => &mut self.shallow[family],
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            full: [Config::FULL; 2],
            shallow: [Config::SHALLOW; 2],
            local: [true; 2],
            extended: [false; 2],
        }
    }
}
