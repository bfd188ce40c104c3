//! `wg4-output-tun-handoff` and the like: packets on their way to the thread that has their peer.
//! `wgN-tx`: what an interface sends, to the node of its version.

use std::convert::Infallible;

use graph::{Buffer, Frame, HandOff, HandsOff, Node, Payload};

use super::tables::ForPeer;
use super::{input, output};

/// Nodes that hand over, and those behind them, of what is sent and of what is received.
const NODES: [([&str; 2], [&str; 2]); 2] =
    [(output::HANDOFF, output::NAMES[1]), (input::HANDOFF, input::NAMES[1])];

/// Hands packets over.
#[derive(Clone)]
pub struct ByPeer<const IS_6: bool, const INPUT: bool>;

impl<const IS_6: bool, const INPUT: bool> HandsOff for ByPeer<IS_6, INPUT> {
    const NAME: &'static str = NODES[INPUT as usize].0[IS_6 as usize];
    const TO: &'static str = NODES[INPUT as usize].1[IS_6 as usize];
    const DROP: &'static str = if IS_6 { "ip6-drop" } else { "ip4-drop" };
    const INPUT: &'static str = ForPeer::NAME;
    const OUTPUT: &'static str = ForPeer::NAME;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        _: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On, IS_6, INPUT> {
        |p| p.payload::<ForPeer>().thread as usize
    }
}

/// Sends what an interface is given to the node that encrypts it.
#[derive(Clone)]
pub struct ToOutput;

/// Edges of [`ToOutput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An IPv4 packet.
    #[to("wg4-output-tun")]
    Ip4,
    /// An IPv6 packet.
    #[to("wg6-output-tun")]
    Ip6,
}

/// Drops of [`ToOutput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum NoPacket {
    /// neither IPv4 nor IPv6.
    #[name("neither IPv4 nor IPv6")]
    NoIp,
}

impl Node for ToOutput {
    const NAME: &'static str = "wg-tx";
    type Next = Next;
    type Error = NoPacket;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| match p.bytes().first().map(|first| first >> 4) {
            Some(4) => Ok(Next::Ip4),
            Some(6) => Ok(Next::Ip6),
            _ => Err(NoPacket::NoIp),
        });
    }
}
