//! Bonding: several Ethernet interfaces, the members, are one interface, `BondEthernetN`.
//!
//! Packets received on members belong to the bond, except for link protocols (slow protocols, LLDP,
//! CDP). Packets sent by the bond go to its active members: round-robin, to the first one, to all,
//! or by flow hash. A member is active while it is up and has a link; in mode `lacp` also the
//! partner must agree, as reported by the protocol ([`set_distributing`]).
#![forbid(unsafe_code)]

mod api;
mod cli;
mod input;
mod output;
mod show;
mod state;

use net::interface::{DEVICE_INPUT, Error as InterfaceError};
use net::prelude::*;

pub use api::*;
pub use input::Input;
pub use state::{
    Bond, Bonds, Link, Member, add_member, create, delete, detach, set_distributing, set_link,
    set_weight,
};

/// Way in which a bond chooses members for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One after the other.
    RoundRobin = 1,
    /// The first one that is active.
    ActiveBackup = 2,
    /// By the flow.
    Xor = 3,
    /// All of them.
    Broadcast = 4,
    /// By the flow, among those whose other ends agree (IEEE 802.1AX).
    Lacp = 5,
}

/// Fields of a packet that count where the flow chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Addresses of layer 2.
    #[default]
    L2 = 0,
    /// Addresses of layer 3, ports and protocol.
    L34 = 1,
    /// Addresses of layers 2 and 3.
    L23 = 2,
}

impl Mode {
    /// All, with their words.
    pub const WORDS: [(Self, &'static str); 5] = [
        (Self::RoundRobin, "round-robin"),
        (Self::ActiveBackup, "active-backup"),
        (Self::Xor, "xor"),
        (Self::Broadcast, "broadcast"),
        (Self::Lacp, "lacp"),
    ];
    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize - 1].1
    }
    /// Whether flows choose the member.
    pub fn balances(self) -> bool {
        matches!(self, Self::Xor | Self::Lacp)
    }
}

impl Balance {
    /// All, with their words.
    pub const WORDS: [(Self, &'static str); 3] =
        [(Self::L2, "l2"), (Self::L34, "l34"), (Self::L23, "l23")];
    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].1
    }
}

/// Parameters of a bond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number in its name; the lowest free one if `None`.
    pub id: Option<u32>,
    /// Bonding mode.
    pub mode: Mode,
    /// Hash fields.
    pub balance: Balance,
    /// Members on the processor's own NUMA node are preferred. Interfaces of this router say no
    /// node, and count as near.
    pub numa_only: bool,
    /// Big packets were asked for. They are carried in any case.
    pub gso: bool,
    /// Its address; that of the first member if `None`.
    pub mac: Option<MacAddr>,
}

/// Reasons for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no such bond
    #[retval(INVALID_INTERFACE)]
    NoBond,
    /// bond {0} exists
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// numa-only requires mode lacp
    #[retval(INVALID_ARGUMENT)]
    NumaOnly,
    /// load balancing requires mode xor or lacp
    #[retval(INVALID_ARGUMENT)]
    Balance,
    /// {0} is not a unicast MAC address
    #[retval(INVALID_ARGUMENT)]
    Mac(MacAddr),
    /// members must be Ethernet interfaces other than bonds and sub-interfaces
    #[retval(INVALID_INTERFACE)]
    Unfit,
    /// the interface is already a member
    #[retval(VALUE_EXIST)]
    IsMember,
    /// the interface is not a member
    #[retval(INVALID_INTERFACE)]
    NoMember,
    /// weights require mode active-backup
    #[retval(INVALID_ARGUMENT)]
    Weight,
    /// the LACP plugin is not loaded
    #[retval(FEATURE_DISABLED)]
    NoLacp,
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Interface(InterfaceError),
}

/// State of a member for nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Port {
    /// Its bond; 0, which is no bond, for none.
    bond: u32,
    /// Whether what it receives counts.
    takes: bool,
}

/// Bonds.
pub const FEATURE: Feature = Feature {
    name: "bond",
    about: "Bonding: several links as one interface",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet", "neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let ports = router.attach::<Port>().map_err(refuse)?;
    let input = Input::new(ports, &router.interfaces);
    router.engine.add_feature(&DEVICE_INPUT, input).map_err(refuse)?;
    router.attach_at::<Port, _>([AttachedAt {
        arc: &DEVICE_INPUT,
        node: input::NAME,
        is_on: |port| port.bond > 0,
    }]);
    router.insert(Bonds::default());
    router.interfaces.observe(state::follow);
    state::register(router);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// Whether an interface is a bond.
pub fn is_bond(router: &Router, interface: InterfaceIndex) -> bool {
    router.own::<Bonds>().bonds.contains_key(&interface)
}
