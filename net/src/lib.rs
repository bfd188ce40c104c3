//! The forwarding core, always built in: interfaces, Ethernet, FIB, IP, neighbours, drops.
#![forbid(unsafe_code)]

pub mod address;
pub mod adjacency;
pub mod arp;
pub mod drops;
pub mod engine;
pub mod ethernet;
pub mod events;
pub mod fast_path;
pub mod fib;
mod flow_hash;
pub mod fragment;
pub mod gso;
pub mod health;
pub mod icmp;
pub mod interface;
pub mod ip;
pub mod ip4;
pub mod ip6;
pub mod mfib;
pub mod nd;
pub mod neighbor;
pub mod path_mtu;
pub mod prelude;
pub mod punt;
pub mod reassembly;
mod router;
pub mod statistics;
pub mod teib;
pub mod testing;
pub mod trace;
pub mod tunnel;

pub use interface::api::InterfaceReply;
pub use interface::{Interface, InterfaceIndex, Interfaces};
pub use router::{
    Assembly, Configuration, Feature, Finder, OnThreads, Origin, Parts, Register, Router, Trial,
    refuse,
};

/// The features of this crate, in the order in which they register.
pub const FEATURES: &[Feature] = &[
    health::FEATURE,
    engine::FEATURE,
    trace::FEATURE,
    trace::TRACEDUMP,
    drops::FEATURE,
    interface::FEATURE,
    interface::SEGMENTATION,
    fast_path::FEATURE,
    fib::FEATURE,
    address::FEATURE,
    ip4::FEATURE,
    ip6::FEATURE,
    mfib::FEATURE,
    icmp::FEATURE,
    fragment::FEATURE,
    reassembly::FEATURE,
    path_mtu::FEATURE,
    tunnel::FEATURE,
    teib::FEATURE,
    punt::FEATURE,
    neighbor::FEATURE,
    arp::FEATURE,
    nd::FEATURE,
    statistics::FEATURE,
];
