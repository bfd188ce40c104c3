//! `abf-input-ip4`, `abf-input-ip6`: send packets that lists permit along the paths of policies.

use acl::{Action, List, Matched};
use net::ip::Balanced;
use net::prelude::*;

use super::{Attached, Attachments};

/// A version whose packets policies forward.
pub trait Forwarded: Matched {
    /// Node name.
    const NODE: &'static str;
}

impl Forwarded for V4 {
    const NODE: &'static str = "abf-input-ip4";
}

impl Forwarded for V6 {
    const NODE: &'static str = "abf-input-ip6";
}

/// Asks the policies of an interface about packets.
#[derive(Clone)]
pub struct Input<V> {
    version: V,
    attachments: SlabReader<Attachments>,
    lists: SlabReader<List>,
}

impl<V: Forwarded> Input<V> {
    pub(super) fn new(attachments: &SlabReader<Attachments>, lists: &SlabReader<List>) -> Self {
        Self { version: V::SELF, attachments: attachments.clone(), lists: lists.clone() }
    }
    /// The policy whose list has the first rule about a packet, and what that says.
    #[inline(always)]
    fn find<'e>(
        &'e self,
        attachments: &'e [Attached],
        p: &Buffer<'_>,
        epoch: Epoch<'e>,
    ) -> Option<(&'e Attached, Action)> {
        let tuple = V::read(p.bytes());
        attachments.iter().find_map(|attachment| {
            let verdict = V::find(self.lists.read(attachment.list, epoch)?, &tuple)?;
            Some((attachment, verdict.action))
        })
    }
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets forwarded by a policy.
    #[name("matched")]
    Matched,
    /// packets denied by an access list.
    #[name("missed")]
    Missed,
    /// packets that matched no rule.
    #[name("no match")]
    NoMatch,
}

impl<V: Forwarded> Node for Input<V> {
    const NAME: &'static str = V::NODE;
    const EXPLAINABLE: bool = true;
    type Next = Balanced<V>;
    type Error = Infallible;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, version, count) = (frame.epoch(), self.version, frame.len() as u64);
        let (mut matched, mut missed) = (0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let attachments = self
                    .attachments
                    .read(p.rx(), epoch)
                    .map_or(&[][..], |attachments| &attachments.0[V::INDEX]);
                let found = self.find(attachments, p, epoch);
                p.trace(|_| Seen {
                    node: V::NODE,
                    found: found.map(|(attachment, action)| (*attachment, action)),
                });
                match found {
                    Some((_, Action::Deny)) => {
                        missed += 1;
                        Ok(Balanced::Continue)
                    }
                    Some((attachment, _)) => {
                        matched += 1;
                        p.set_adjacency(attachment.balance);
                        Ok(Balanced::Onward(version))
                    }
                    None => Ok(Balanced::Continue),
                }
            },
        );
        frame.count(Count::Matched, matched);
        frame.count(Count::Missed, missed);
        frame.count(Count::NoMatch, count - matched - missed);
    }
}

/// The trace record of a node.
struct Seen {
    node: &'static str,
    found: Option<(Attached, Action)>,
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, found } = self;
        match found {
            Some((attachment, Action::Deny)) => {
                write!(f, "  {node}: policy {} denies", attachment.policy)
            }
            Some((attachment, _)) => {
                write!(f, "  {node}: policy {} lb-index {}", attachment.policy, attachment.balance)
            }
            None => write!(f, "  {node}: no match"),
        }
    }
}
