//! Bypass nodes: packets of tunnels over UDP leave the path of other packets for this router right
//! after receive, and go to the input node of their kind.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use control::cli::{ArgInfo, Args, Arguments, Cli, Command, Error, Line, Print};
use control::configuration::{Lines, Stage};
use control::feature::Refused;
use graph::arc::{Along, Beside};
use graph::{Buffer, Edge, Flags, Frame, Node};
use infra::rcu::Epoch;
use wire::{Protocol, udp};

use super::{Decapsulate, Input, Kind};
use crate::interface::{AttachedAt, InterfaceIndex, NoInterface};
use crate::ip::{V4, V6, Version};
use crate::ip4::IP4_UNICAST;
use crate::ip6::IP6_UNICAST;
use crate::router::{Router, refuse};

/// A kind whose packets may leave early.
pub trait Bypass: Decapsulate + fmt::Debug + PartialEq {
    /// The nodes, over IPv4 and IPv6.
    const NODES: [&'static str; 2];
    /// The commands that switch them on.
    const COMMANDS: [&'static str; 2];
}

/// Whether packets over IPv4 and over IPv6 leave early on an interface.
pub struct Bypassing<K>(pub [bool; 2], PhantomData<fn() -> K>);

impl<K> Bypassing<K> {
    fn new(of: [bool; 2]) -> Self {
        Self(of, PhantomData)
    }
}
impl<K> Clone for Bypassing<K> {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}
impl<K> Default for Bypassing<K> {
    fn default() -> Self {
        Self::new([false; 2])
    }
}
impl<K> PartialEq for Bypassing<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// Sees which packets are of tunnels that are up.
struct BypassNode<V, K, const IS_6: bool> {
    version: V,
    input: Input<K, IS_6>,
}

impl<V: Clone, K, const IS_6: bool> Clone for BypassNode<V, K, IS_6> {
    fn clone(&self) -> Self {
        Self { version: self.version.clone(), input: self.input.clone() }
    }
}

/// Edges of [`BypassNode`].
enum Next<K, const IS_6: bool> {
    /// A tunnel's packet.
    Input(PhantomData<fn() -> K>),
    /// On with the features of the interface.
    Continue,
}

impl<K, const IS_6: bool> Clone for Next<K, IS_6> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, const IS_6: bool> Copy for Next<K, IS_6> {}

impl<K: Kind, const IS_6: bool> graph::Next for Next<K, IS_6> {
    const EDGES: &'static [Edge] = &[Edge { to: K::INPUT[IS_6 as usize], payload: "" }];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Input(_) => 0,
            Self::Continue => along.next(p),
        }
    }
}

impl<V: Version, K: Bypass, const IS_6: bool> BypassNode<V, K, IS_6> {
    /// Whether a packet is a tunnel's; then its current bytes are those after the UDP header.
    #[inline(always)]
    fn leaves(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> bool {
        let Ok(upper) = V::upper(p) else { return false };
        if upper.protocol != Protocol::UDP || V::is_fragment(p) {
            return false;
        }
        let is_bare = upper.header::<udp::Header>(p).is_some_and(|udp| udp.checksum.get() == 0);
        if !is_bare && V::verify(p, &upper).is_err() {
            return false;
        }
        let (l3, front) = (p.offset(), upper.offset + size_of::<udp::Header>());
        p.set_l3_offset(l3);
        p.set_l4_offset(l3 + upper.offset as i16);
        if p.advance(front).is_none() {
            return false;
        }
        let is_known = self.input.find(p, epoch).is_ok();
        if is_known {
            p.add_flags(Flags::L3.with(Flags::L4));
        } else {
            // It was there just now.
            let _ = p.prepend(front);
        }
        is_known
    }
}

impl<V: Version, K: Bypass, const IS_6: bool> Node for BypassNode<V, K, IS_6> {
    const NAME: &'static str = K::NODES[IS_6 as usize];
    const EXPLAINABLE: bool = true;
    type Next = Next<K, IS_6>;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, this) = (frame.epoch(), &*self);
        frame.each(
            #[inline(always)]
            |p| {
                let leaves = this.leaves(p, epoch);
                Ok(if leaves { Next::Input(PhantomData) } else { Next::Continue })
            },
        );
    }
}

/// The output of the commands.
#[derive(Arguments, Debug, PartialEq)]
struct Wanted {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    del: bool,
}

/// `set interface ip KIND-bypass`.
#[derive(Debug, PartialEq)]
struct Set<K, const IS_6: bool>(Wanted, PhantomData<K>);

impl<K: Bypass, const IS_6: bool> Command for Set<K, IS_6> {
    const PATHS: &'static [&'static str] = &[K::COMMANDS[IS_6 as usize]];
    const ABOUT: &'static str = "Enable or disable tunnel bypass on an interface: early \
        decapsulation";
    const ARGS: &'static [ArgInfo] = Wanted::ARGS;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Ok(Self(Wanted::parse(args)?, PhantomData))
    }
}

impl<K: Bypass, const IS_6: bool> Print for Set<K, IS_6> {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        self.0.print(line);
    }
}

/// Registers the commands of a kind about its bypass nodes.
pub fn register<K: Bypass>(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set<K, false>| set::<K>(router, &c.0, false));
    cli.command(|router: &mut Router, c: Set<K, true>| set::<K>(router, &c.0, true));
}

fn set<K: Bypass>(router: &mut Router, wanted: &Wanted, is_6: bool) -> Result<(), Error> {
    Ok(router.bypass::<K>(wanted.interface, is_6, !wanted.del)?)
}

/// Puts in the commands that switch the bypass nodes of a kind on.
pub fn configuration<K: Bypass>(router: &Router, lines: &mut Lines<'_>) {
    for (interface, on) in router.settings::<Bypassing<K>>() {
        let (wanted, [ip4, ip6]) = (|| Wanted { interface, del: false }, on.0);
        if ip4 {
            lines.push(&Set::<K, false>(wanted(), PhantomData));
        }
        if ip6 {
            lines.push(&Set::<K, true>(wanted(), PhantomData));
        }
    }
}

impl Router {
    /// Adds the bypass nodes of a kind.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory; names that are in use.
    pub fn add_tunnel_bypass<K: Bypass>(&mut self) -> Result<(), Refused> {
        self.attach::<Bypassing<K>>().map_err(refuse)?;
        let v4 = BypassNode::<V4, K, false> { version: V4, input: self.tunnel_input::<K, false>() };
        let v6 = BypassNode::<V6, K, true> { version: V6, input: self.tunnel_input::<K, true>() };
        for (arc, node, last) in [
            (&IP4_UNICAST, K::NODES[0], "ip4-vxlan-bypass"),
            (&IP6_UNICAST, K::NODES[1], "ip6-vxlan-bypass"),
        ] {
            let done = match arc.order.contains(&node) {
                true => self.engine.place(arc, node),
                false => self.engine.place_beside(arc, node, Beside::Before(last)),
            };
            done.map_err(refuse)?;
        }
        self.engine.add(v4).map_err(refuse)?;
        self.engine.add(v6).map_err(refuse)?;
        self.attach_at::<Bypassing<K>, _>([
            AttachedAt { arc: &IP4_UNICAST, node: K::NODES[0], is_on: |on| on.0[0] },
            AttachedAt { arc: &IP6_UNICAST, node: K::NODES[1], is_on: |on| on.0[1] },
        ]);
        Ok(())
    }
    /// Enables or disables bypass for tunnels of a kind on an interface.
    ///
    /// # Errors
    /// [`NoInterface`].
    pub fn bypass<K: Bypass>(
        &mut self,
        interface: InterfaceIndex,
        is_6: bool,
        is_on: bool,
    ) -> Result<(), NoInterface> {
        let Bypassing(mut on, _) = self.setting::<Bypassing<K>>(interface);
        on[usize::from(is_6)] = is_on;
        self.put(interface, Bypassing::<K>::new(on))
    }
}
