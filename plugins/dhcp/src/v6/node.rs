//! `dhcpv6-client`: answers of servers, handed to control.

use net::prelude::*;
use wire::dhcp6::kind;

use crate::node::{Arrived, Overflow, PROXY6, To, hand_over, source6};

/// Name of [`Client6`].
pub const CLIENT: &str = "dhcpv6-client";

/// Hands answers to control. What servers send to relays goes on to the proxies, which share the
/// port.
#[derive(Clone)]
pub struct Client6(pub EventSender<Arrived>);

/// Edges of [`Client6`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// For a relay.
    #[to(PROXY6[1])]
    ToProxy,
}

/// Drops of [`Client6`], and reasons of control to disregard an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Lost {
    /// DHCPv6 message too long.
    #[name("DHCPv6 message too long")]
    TooBig,
    /// too many DHCPv6 messages queued.
    #[name("more DHCPv6 messages than there is room for")]
    NoRoom,
    /// DHCPv6 message is malformed.
    #[name("DHCPv6 message is malformed")]
    Malformed,
    /// DHCPv6 message is not a reply to a client.
    #[name("DHCPv6 message is no answer to a client")]
    Kind,
    /// DHCPv6 reply is for another client.
    #[name("DHCPv6 answer is for another client")]
    OtherClient,
    /// DHCPv6 answer has T1 behind T2.
    #[name("DHCPv6 answer has T1 behind T2")]
    Order,
    /// no DHCPv6 message waits for the answer.
    #[name("no DHCPv6 message waits for the answer")]
    NotAsked,
}

/// Counters of [`Client6`].
#[derive(Clone, Copy, Debug, graph::Count)]
pub enum Count {
    /// DHCPv6 replies accepted.
    #[name("DHCPv6 answers taken")]
    Answers,
}

/// Whether a packet was sent to a link-local address.
fn is_to_link_local(p: &graph::Buffer<'_>) -> bool {
    let outer = ip6::Header::ref_from_prefix(p.bytes_from(p.l3_offset()));
    outer.is_ok_and(|(header, _)| header.dst_addr().is_unicast_link_local())
}

impl Overflow for Lost {
    const TOO_BIG: Self = Self::TooBig;
    const NO_ROOM: Self = Self::NoRoom;
}

impl Node for Client6 {
    const NAME: &'static str = CLIENT;
    type Next = Next;
    type Error = Lost;
    type Count = Count;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        for mut held in frame.take() {
            let mut p = frame.packet_of(&mut held);
            if p.bytes().first() == Some(&kind::RELAY_REPLY) {
                frame.send(held, Next::ToProxy);
                continue;
            }
            let from = source6(&p);
            // Clients ask from their link-local address; hosts off the link cannot reach it.
            if !is_to_link_local(&p) {
                frame.discard(held, Lost::NotAsked);
                continue;
            }
            match hand_over::<_, Lost>(&mut p, &mut self.0, (To::Client6, 0, from)) {
                Ok(()) => frame.release(held),
                Err(why) => frame.discard(held, why),
            }
        }
    }
}
