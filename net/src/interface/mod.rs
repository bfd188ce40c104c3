//! Interfaces: packets are received and sent on them.
//!
//! An interface is made of a row here, a [`Port`] that nodes read, and two nodes of its own:
//! `<name>-output`, where packets with a finished layer 2 header arrive, and the driver's
//! `<name>-tx`. A sub-interface ([`SubInterface`]) has no nodes but those of its parent, whose
//! output node puts its VLAN tags in.

pub mod api;
mod attached;
mod brief;
mod change;
mod cli;
mod configuration;
mod counters;
mod edges;
mod give_back;
mod health;
mod mark;
mod monitor;
mod mtu;
mod noted;
mod output;
mod placement;
mod queues;
mod segmentation;
mod settings;
mod show;
mod sides;
mod speed;
mod sub;
mod sub_cli;
mod sub_table;
mod table;
mod tx_queues;
mod vlan;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use control::configuration::Stage;
use control::feature::Refusal;
use control::stats;
use graph::{BuildError, Flags, NodeIndex};
use serde::Serialize;
use wire::MacAddr;

use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use crate::gso::Offloads;
pub use attached::{AttachedAt, NoInterface, Setting};
pub use brief::{Brief, Briefs, BriefsView};
pub use counters::{COLUMNS, Counters, MAX_INTERFACES, Traffic, Values};
pub use edges::{Edges, EdgesReader};
pub use mark::{MARK, PacketMark};
pub use mtu::Mtu;
pub use output::{DEVICE_INPUT, INTERFACE_OUTPUT, InterfaceOutput};
pub use queues::{Place, QueueError, RxQueue};
pub use segmentation::FEATURE as SEGMENTATION;
pub use sides::Sides;
pub use sub::{SubInterface, TagRewrite};
pub use sub_table::SubTable;
pub use table::{Describe, Interfaces};
pub use tx_queues::{QueueSet, TxChoice, TxQueue, TxQueues};
pub use vlan::{TAG_PRIORITY, Tagged, Tags};

pub(crate) use cli::find;

/// Number of an interface (`sw_if_index`). `local0` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct InterfaceIndex(pub u32);

/// The kind of frames that an interface carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// Ethernet frames.
    Ethernet,
    /// IP packets without a layer 2 header.
    Ip,
    /// Nothing: `local0`.
    Local,
}

/// Whether an interface gets copies of what is flooded in its bridge domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flooding {
    /// It does.
    #[default]
    Always,
    /// A tunnel to one far end: only while the domain has no tunnel to a multicast group, which
    /// reaches that end as well.
    WithoutMaster,
    /// A tunnel to a multicast group.
    Master,
}

/// The mode of an interface for received frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Mode {
    /// Packets for its own address go to their protocol.
    #[default]
    Layer3,
    /// All of them are bridged.
    Bridge,
    /// All of them leave by another interface.
    CrossConnect,
}

/// Parameters of a new interface.
#[derive(Clone, Debug)]
pub struct NewInterface {
    /// Name, unique.
    pub name: String,
    /// Its payload.
    pub kind: Kind,
    /// Hardware class as `show hardware-interfaces` names it.
    pub hardware: &'static str,
    /// Its own address; zero where there is none.
    pub mac: MacAddr,
    /// MTU of layer 3.
    pub mtu: u32,
    /// Offloads of the transmit node.
    pub offloads: Offloads,
    /// Whether the link is up as long as the interface is.
    pub link_follows_admin: bool,
}

/// Control-plane state of an interface.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    /// Index.
    pub index: InterfaceIndex,
    /// Name.
    pub name: String,
    /// Its parameters when it was made; of a sub-interface, its parent's.
    #[serde(skip)]
    pub made: Arc<NewInterface>,
    /// The interface whose nodes it uses: itself, or the parent of a sub-interface.
    pub sup: InterfaceIndex,
    /// Its match on frames of its parent; `None` when it is no sub-interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<SubInterface>,
    /// Its sub-interfaces.
    #[serde(skip)]
    pub subs: BTreeSet<InterfaceIndex>,
    /// Its payload.
    pub kind: Kind,
    /// Hardware class.
    pub hardware: &'static str,
    /// The operator's tag; empty for none.
    pub tag: String,
    /// Speed of the link as the device gives it, in kilobits per second; 0 when unknown.
    pub link_speed: u32,
    /// Speeds to choose from, in kilobits per second; empty where the device has the one it has.
    #[serde(skip)]
    pub speeds: &'static [u32],
    /// NUMA node that the device is on, where that is known.
    pub numa_node: Option<usize>,
    /// Bytes that the device carries after the layer 2 header.
    pub link_mtu: u32,
    /// Own address.
    #[serde(serialize_with = "as_text")]
    pub mac: MacAddr,
    /// Its address in the configuration, while it has that of another interface.
    #[serde(skip)]
    pub own_mac: Option<MacAddr>,
    /// Switched on.
    pub admin_up: bool,
    /// Able to carry packets.
    pub link_up: bool,
    /// Whether its device was deleted under it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_device_gone: bool,
    /// MTUs.
    pub mtu: Mtu,
    /// Offloads of the transmit node.
    pub offloads: Offloads,
    /// Whether big packets are segmented before they are sent.
    pub asks_segments: bool,
    /// Whether it gets copies of flooded frames; set by its creator.
    #[serde(skip)]
    pub flooding: Flooding,
    /// Tag rewrite of bridged frames, for messages and commands that show it; noted here by the
    /// feature that does it.
    #[serde(skip)]
    pub tag_rewrite: TagRewrite,
    /// Its origin.
    #[serde(skip)]
    pub start: Start,
    /// The only other station on its link, which has all addresses that are looked for there.
    #[serde(skip)]
    pub far_end: Option<MacAddr>,
    /// Addresses of its port that features lend to it, in no configuration.
    #[serde(skip)]
    lent: Vec<MacAddr>,
    /// Whether the MTU of IPv4 is one that the network gave.
    #[serde(skip)]
    has_learned_mtu: bool,
    #[serde(skip)]
    link_follows_admin: bool,
    /// `<name>-output`.
    #[serde(skip)]
    pub output: NodeIndex,
    /// `<name>-tx`.
    #[serde(skip)]
    pub tx: NodeIndex,
    /// Its receive queues, by number.
    #[serde(skip)]
    pub queues: Vec<RxQueue>,
    #[serde(skip)]
    port: Port,
}

/// The origin of an interface, for a configuration that makes it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Its number among all interfaces ever created.
    pub(super) order: u32,
    /// Whether it needs another one.
    pub is_late: bool,
    /// Whether it was up at once.
    pub is_up: bool,
    /// The tables in which what made it enabled IPv4 and IPv6 on it.
    pub tables: [Option<u16>; 2],
}

impl Interface {
    /// Whether address resolution is unnecessary: there is only one other station.
    pub fn is_point_to_point(&self) -> bool {
        self.kind == Kind::Ip || self.far_end.is_some()
    }
    /// True for a sub-interface.
    pub fn is_sub(&self) -> bool {
        self.sub.is_some()
    }
    /// Stage of the command that makes it, and its place among those of that stage.
    pub fn stage(&self) -> (Stage, u32) {
        match self.is_sub() || self.start.is_late {
            true => (Stage::SubInterfaces, self.start.order),
            false => (Stage::Interfaces, self.index.0),
        }
    }
}

fn as_text<S: serde::Serializer>(v: &impl fmt::Display, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(v)
}

/// An interface, as nodes read it.
#[derive(Clone, Debug)]
pub struct Port {
    /// Own address.
    pub mac: MacAddr,
    /// Up, so that packets may pass.
    pub up: bool,
    /// All received frames are punted.
    pub punts: bool,
    /// Its device receives frames for any address, to be bridged.
    pub promiscuous: bool,
    /// Frames for any address are routed.
    pub takes_all: bool,
    /// The mode for received frames.
    pub mode: Mode,
    /// IPv4 table of packets received here; `None` while IPv4 is not enabled.
    pub ip4: Option<u16>,
    /// IPv6 table of packets received here; `None` while IPv6 is not enabled.
    pub ip6: Option<u16>,
    /// The interface whose nodes it uses: itself, or the parent of a sub-interface.
    pub sup: InterfaceIndex,
    /// Pending transmit offloads.
    pub todo: Flags,
    /// Put in front of what it sends.
    pub tags: Tags,
    /// Further addresses that are its own.
    pub secondary: Arc<[MacAddr]>,
    /// Its sub-interfaces, by tags.
    pub subs: Option<Arc<SubTable>>,
    /// Whether its packets are counted by kind of destination too.
    pub detailed: bool,
    /// The number of its own output node; `None` of a sub-interface.
    pub output: Option<u32>,
}

impl Port {
    fn new(mac: MacAddr, sup: InterfaceIndex) -> Self {
        Self {
            mac,
            up: false,
            punts: false,
            promiscuous: false,
            takes_all: false,
            mode: Mode::Layer3,
            ip4: None,
            ip6: None,
            sup,
            todo: Flags::default(),
            tags: Tags::NONE,
            secondary: Arc::new([]),
            subs: None,
            detailed: false,
            output: None,
        }
    }
}

/// A change of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was added.
    Added,
    /// About to be deleted.
    Deleting,
    /// Admin or link state.
    State,
    /// MAC address.
    Mac,
    /// One of its MTUs.
    Mtu,
    /// Name.
    Name,
    /// Whether big packets are segmented.
    Segments,
}

/// Called after (before, for [`Change::Deleting`]) an interface changed; those who observe longest
/// first, for [`Change::Deleting`] last.
pub type Observer = fn(&mut Router, InterfaceIndex, Change);

/// Reasons why an interface cannot be made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// unknown interface
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// interface name `{0}' is in use
    #[retval(VALUE_EXIST)]
    NameInUse(String),
    /// at most {MAX_INTERFACES} interfaces
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// not supported by this interface
    #[retval(INVALID_INTERFACE)]
    Unfit,
    /// sub-interface {0} exists
    #[retval(SUBIF_ALREADY_EXISTS)]
    SubExists(u32),
    /// a sub-interface for these tags exists
    #[retval(VLAN_ALREADY_EXISTS)]
    VlanExists,
    /// a VLAN ID is 1 to 4095
    #[retval(INVALID_VLAN)]
    InvalidVlan,
    /// driver does not support setting link speed: link speed change not supported by its device
    #[retval(UNSUPPORTED)]
    FixedSpeed,
    /// the link does not support {0} kilobits per second
    #[retval(INVALID_VALUE)]
    NoSpeed(u32),
    /// {0}
    #[retval(INVALID_VALUE)]
    Invalid(&'static str),
    /// {0}
    #[retval(UNSPECIFIED)]
    #[from]
    Graph(BuildError),
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Statistics(stats::Error),
}

/// Interfaces and `local0`.
pub const FEATURE: Feature = Feature {
    name: "interface",
    about: "Interfaces, their state and counters",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["engine", "drops"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    parts.router.engine.claim(TAG_PRIORITY.claim()).map_err(refuse)?;
    parts.router.engine.claim(MARK.claim()).map_err(refuse)?;
    health::register(parts.router);
    [&INTERFACE_OUTPUT, &DEVICE_INPUT].into_iter().for_each(|a| parts.router.engine.declare(a));
    let end = parts.router.interfaces.arc_end();
    parts.router.engine.add(end).map_err(refuse)?;
    let local = NewInterface {
        name: "local0".to_owned(),
        kind: Kind::Local,
        hardware: "local",
        mac: MacAddr::ZERO,
        mtu: 0,
        offloads: Offloads::default(),
        link_follows_admin: false,
    };
    parts.router.add_interface(local, output::LocalTx).map_err(refuse)?;
    api::register(&mut parts.api);
    parts.router.interfaces.observe(noted::note);
    parts.router.interfaces.observe(api::tell);
    cli::register(&mut parts.cli);
    monitor::register(&mut parts.cli);
    settings::register(&mut parts.cli);
    speed::register(&mut parts.cli);
    sub_cli::register(&mut parts.cli);
    placement::register(&mut parts.cli);
    Ok(())
}

#[cfg(test)]
mod tests;
