//! `BondEthernetN-tx`: chooses the member for each packet.

use net::ethernet::Tagged;
use net::fib::{FlowHash, flow_of, next};
use net::gso;
use net::prelude::*;

use super::input::Seen;
use super::{Balance, Mode};

/// Members to send to, and the choice among them.
#[derive(Clone, Debug)]
pub struct Plan {
    pub mode: Mode,
    pub balance: Balance,
    /// Members, each with the edge to its output.
    pub members: Vec<(u32, Slot)>,
}

impl Plan {
    pub fn new(mode: Mode, balance: Balance) -> Self {
        Self { mode, balance, members: Vec::new() }
    }
}

/// Sends packets of a bond to its members.
#[derive(Clone)]
pub struct Output {
    plan: Reader<Plan>,
    /// Position of the next member in turn.
    turn: usize,
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// `<interface>-output` of a member.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no active member.
    #[name("no active member")]
    NoMember,
    /// no buffers to copy.
    #[name("no buffers to copy")]
    NoBuffers,
}

impl Output {
    pub(super) fn new(plan: Reader<Plan>) -> Self {
        Self { plan, turn: 0 }
    }
}

/// A number that is the same for all packets of a flow.
#[inline(always)]
fn hash(p: &Buffer<'_>, balance: Balance) -> u32 {
    let bytes = p.bytes();
    let carried = || {
        let tagged = Tagged::read(bytes)?;
        let is_ip = matches!(tagged.ethertype, EtherType::IP4 | EtherType::IP6);
        bytes.get(tagged.header_len()..).filter(|_| is_ip)
    };
    match balance {
        Balance::L2 => addresses(bytes),
        Balance::L34 => {
            carried().map_or_else(|| addresses(bytes), |ip| flow_of(ip, FlowHash::DEFAULT))
        }
        Balance::L23 => {
            let pair = FlowHash(FlowHash::SRC.0 | FlowHash::DST.0);
            addresses(bytes) ^ carried().map_or(0, |ip| flow_of(ip, pair))
        }
    }
}

/// The same of the two addresses of layer 2.
#[inline(always)]
fn addresses(frame: &[u8]) -> u32 {
    let Some(bytes) = frame.first_chunk::<12>() else { return 0 };
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
    next(next(next(word(0)) ^ word(4)) ^ word(8))
}

/// One of `count`, the same for the same hash.
#[inline(always)]
fn choose(hash: u32, count: usize) -> usize {
    ((u64::from(hash) * count as u64) >> 32) as usize
}

impl Node for Output {
    const NAME: &'static str = "bond-tx";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let plan = self.plan.read(frame.epoch());
        let (members, mode) = (&plan.members[..], plan.mode);
        let mut turn = self.turn;
        frame.each(|p| {
            let (first, others) = members.split_first().ok_or(Error::NoMember)?;
            let (member, slot) = match mode {
                Mode::Xor | Mode::Lacp if others.is_empty() => *first,
                Mode::Xor | Mode::Lacp => members[choose(hash(p, plan.balance), members.len())],
                Mode::ActiveBackup => *first,
                Mode::RoundRobin => {
                    turn = if turn + 1 < members.len() { turn + 1 } else { 0 };
                    members[turn]
                }
                Mode::Broadcast => {
                    copies(p, others);
                    *first
                }
            };
            let from = p.tx();
            p.trace(|p| Seen::of(p, from, member));
            p.set_tx(member);
            Ok(Next::To(slot))
        });
        self.turn = turn;
    }
}

/// Sends a copy of a frame to each of some members, as far as there are buffers.
#[inline(never)]
fn copies(p: &mut Packet<'_, Output>, to: &[(u32, Slot)]) {
    if to.is_empty() {
        return;
    }
    gso::with_bytes(p, |p, bytes| {
        for (member, slot) in to {
            if copy(p, bytes, *member, *slot).is_none() {
                p.error(Error::NoBuffers);
            }
        }
    });
}

fn copy(p: &mut Packet<'_, Output>, bytes: &[u8], to: u32, slot: Slot) -> Option<()> {
    let mut new = gso::copy(p, bytes)?;
    new.set_tx(to);
    new.send(Next::To(slot));
    Some(())
}
