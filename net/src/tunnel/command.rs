//! Arguments that commands about tunnels share, and how tunnels are printed.

use std::net::IpAddr;

use control::cli::{
    Args, Arguments, Below, Error, Line, Output, Pair, Print, PrintValue, Value, Words,
};
use control::configuration::Lines;
use graph::Slot;

use super::{EncapDecapFlags, Error as Refused, Kind, Outer, Tunnel};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Both ends of a tunnel over UDP, and what is done with what comes from the far one.
#[derive(Arguments, Debug, PartialEq)]
pub struct Far {
    /// local address
    #[alias("local")]
    src: IpAddr,
    /// remote address
    #[alias("remote")]
    dst: Option<IpAddr>,
    /// multicast group as remote address, and its interface
    group: Option<Pair<IpAddr, InterfaceIndex>>,
    /// table to route the outer packets in
    #[values("table-id")]
    #[default]
    encap_vrf_id: u32,
    /// next node of decapsulated packets
    #[words]
    pub decap_next: Option<Next>,
    /// instance number in the interface name
    instance: Option<u32>,
    /// delete the tunnel
    #[keyword("del")]
    pub is_del: bool,
}

/// The target of received packets.
#[derive(Words, Debug, PartialEq, Eq)]
pub enum Next {
    /// Frames.
    L2,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// A node.
    Node(String),
}

/// Networks behind tunnels there may be.
pub const NETWORKS: u32 = 1 << 24;
/// Number of one.
pub type Vni = Below<NETWORKS>;

impl Far {
    /// The outer header, and the edge of the input node that received packets take.
    ///
    /// # Errors
    /// A missing address, table or node.
    pub fn outer<K: Kind>(&self, router: &mut Router) -> Result<(Outer, Option<Slot>), Error> {
        let (src, group) = (self.src, self.group.map(|group| group.0));
        if group.is_some_and(|group| !group.is_multicast()) {
            return Err(Error::new("the address of the group is not one of multicast"));
        }
        let dst = self.dst.or(group);
        let dst = dst.ok_or_else(|| Error::new("missing remote address"))?;
        let table = router.tunnel_table(src, self.encap_vrf_id)?;
        let next = edge::<K>(router, src, self.decap_next.as_ref())?;
        let group_over = self.group.map(|group| group.1);
        Ok((Outer { group_over, ..Outer::new(src, dst, table) }, next))
    }
    /// Makes the tunnel, whose interface is named then, or deletes it.
    ///
    /// # Errors
    /// Why not.
    pub fn carry_out<K: Kind>(
        &self,
        router: &mut Router,
        outer: Outer,
        kind: K,
    ) -> Result<Output, Error> {
        self.carry_out_by(router, |router, is_add, instance| {
            router.add_or_remove_tunnel(is_add, instance, outer, kind)
        })
    }
    /// As [`carry_out`](Self::carry_out), by a function of the kind's own.
    ///
    /// # Errors
    /// Why not.
    pub fn carry_out_by(
        &self,
        router: &mut Router,
        by: impl FnOnce(&mut Router, bool, Option<u32>) -> Result<InterfaceIndex, Refused>,
    ) -> Result<Output, Error> {
        let interface = by(router, !self.is_del, self.instance)?;
        if self.is_del {
            return Ok(Output::none());
        }
        Ok(Output::text(format!("{}\n", router.interfaces.name(interface.0))))
    }
    /// As a command has it that makes this tunnel.
    fn of<K: Kind>(router: &Router, t: &Tunnel<K>) -> Self {
        let Outer { src, dst, group_over, .. } = t.outer;
        Self {
            src,
            dst: group_over.is_none().then_some(dst),
            group: group_over.map(|over| Pair(dst, over)),
            encap_vrf_id: router.tunnel_table_id(&t.outer),
            decap_next: node(router, t),
            instance: Some(t.instance),
            is_del: false,
        }
    }
}

/// The edge of the input node over the version of an address that received packets take.
///
/// # Errors
/// A missing node.
pub fn edge<K: Kind>(
    router: &mut Router,
    src: IpAddr,
    next: Option<&Next>,
) -> Result<Option<Slot>, Error> {
    let Some(Next::Node(node)) = next else { return Ok(None) };
    let known = router.engine.index_of(node);
    known.ok_or_else(|| Error::new(format!("unknown node `{node}'")))?;
    let slot = router.engine.connect(K::INPUT[usize::from(src.is_ipv6())], node);
    Ok(Some(slot.map_err(|e| Error::new(e.to_string()))?))
}

/// The node that packets received by a tunnel take, where it names one.
pub fn node<K: Kind>(router: &Router, t: &Tunnel<K>) -> Option<Next> {
    let input = K::INPUT[usize::from(t.outer.src.is_ipv6())];
    let node = t.kind.next().and_then(|slot| router.engine.end_of(input, slot));
    node.map(|node| Next::Node(node.to_owned()))
}

/// Words for the fields that are copied, or `none`.
pub fn copied(flags: EncapDecapFlags) -> String {
    let each = (0..8).map(|bit| EncapDecapFlags(flags.0 & 1 << bit));
    let names: Vec<_> =
        each.filter_map(|flag| Some(Copied::try_from(flag).ok()?.to_string())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

/// A field that a tunnel copies between the outer header and what it carries.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
#[number(EncapDecapFlags)]
pub enum Copied {
    /// Don't fragment.
    EncapCopyDf,
    /// Don't fragment, in all outer headers.
    EncapSetDf,
    /// Code point.
    EncapCopyDscp,
    /// Congestion notification.
    EncapCopyEcn,
    /// Congestion notification of received packets.
    DecapCopyEcn,
    /// Hash of what is carried.
    EncapInnerHash,
    /// Hop limit.
    EncapCopyHopLimit,
    /// Flow label.
    EncapCopyFlowLabel,
}

/// The fields that a tunnel copies.
#[derive(Arguments, Debug, PartialEq)]
pub struct Fields {
    /// field copied between outer and inner headers
    #[alias("flags")]
    #[words]
    flag: Vec<Copied>,
}

impl Fields {
    /// As one number.
    pub fn flags(&self) -> EncapDecapFlags {
        let one = |all: EncapDecapFlags, flag: &Copied| all.with((*flag).into(), true);
        self.flag.iter().fold(EncapDecapFlags::NONE, one)
    }
    /// The fields of a number.
    pub fn of(flags: EncapDecapFlags) -> Self {
        let each = (0..8).map(|bit| EncapDecapFlags(flags.0 & 1 << bit));
        Self { flag: each.filter_map(|flag| flag.try_into().ok()).collect() }
    }
}

/// Puts in the commands that make the tunnels of a kind.
pub fn configuration<K: Kind, C: Print>(
    router: &Router,
    lines: &mut Lines<'_>,
    create: impl Fn(&Tunnel<K>, Far) -> C,
) {
    configuration_of(router, lines, |_| true, create);
}

/// As [`configuration()`], of some of the tunnels.
pub fn configuration_of<K: Kind, C: Print>(
    router: &Router,
    lines: &mut Lines<'_>,
    is_meant: impl Fn(&Tunnel<K>) -> bool,
    create: impl Fn(&Tunnel<K>, Far) -> C,
) {
    for t in router.tunnels::<K>().iter().filter(|t| is_meant(t)) {
        push(router, lines, t.interface, &create(t, Far::of(router, t)));
    }
}

/// Puts in the command that makes the interface of a tunnel.
pub fn push<C: Print>(router: &Router, lines: &mut Lines<'_>, on: InterfaceIndex, command: &C) {
    if let Some(i) = router.interfaces.at(on) {
        lines.push_interface(i.stage(), command);
    }
}

/// The interface of a tunnel: `sw_if_index` and its number, or its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named(pub InterfaceIndex);

impl Value for Named {
    const IS_NAME: bool = true;
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        args.value(what).map(Self)
    }
}

impl PrintValue for Named {
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}
