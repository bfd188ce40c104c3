//! Addresses that features have this router answer for, by ARP and neighbour discovery: those that
//! a translator gives to hosts, in the network of the interface that their packets leave over.
//! Nothing is delivered here by that; the feature takes the packets.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use infra::rcu::{Epoch, Reader, Shared};

use crate::address::AddressReader;
use crate::interface::{Change, InterfaceIndex};
use crate::router::Router;

/// Addresses that are answered for, first and last: on an interface, or with `None` on each that
/// has a network with them.
pub type Answered = Vec<(Option<InterfaceIndex>, [IpAddr; 2])>;

/// All of them, by feature.
pub(super) struct Answers {
    by_owner: BTreeMap<&'static str, Answered>,
    shared: Shared<Ranges>,
}

/// Ranges of addresses that do not overlap, sorted; those of IPv4 as IPv6 has them.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    by_interface: HashMap<u32, Vec<[u128; 2]>>,
    anywhere: Vec<[u128; 2]>,
}

fn bits(addr: IpAddr) -> u128 {
    match addr {
        IpAddr::V4(addr) => addr.to_ipv6_mapped().to_bits(),
        IpAddr::V6(addr) => addr.to_bits(),
    }
}

fn holds(ranges: &[[u128; 2]], addr: u128) -> bool {
    let behind = ranges.partition_point(|[first, _]| *first <= addr);
    behind.checked_sub(1).is_some_and(|at| addr <= ranges[at][1])
}

/// Sorts ranges and joins those that meet.
fn join(all: &mut Vec<[u128; 2]>) {
    all.sort_unstable();
    all.dedup_by(|next, last| {
        let meets = next[0] <= last[1].saturating_add(1);
        last[1] = if meets { last[1].max(next[1]) } else { last[1] };
        meets
    });
}

impl Ranges {
    fn of<'a>(all: impl Iterator<Item = &'a (Option<InterfaceIndex>, [IpAddr; 2])>) -> Self {
        let mut found = Self::default();
        for (on, range) in all {
            let ranges = match on {
                Some(interface) => found.by_interface.entry(interface.0).or_default(),
                None => &mut found.anywhere,
            };
            ranges.push(range.map(bits));
        }
        found.by_interface.values_mut().for_each(join);
        join(&mut found.anywhere);
        found
    }
}

/// The same for nodes.
#[derive(Clone)]
pub(super) struct AnswersReader {
    ranges: Reader<Ranges>,
    addresses: AddressReader,
}

impl AnswersReader {
    /// For a node.
    pub fn new(router: &Router) -> Self {
        let answers: &Answers = router.own();
        Self { ranges: answers.shared.reader(), addresses: router.addresses.reader() }
    }
    /// Whether an address is answered for on an interface.
    pub fn has(&self, interface: u32, addr: IpAddr, epoch: Epoch<'_>) -> bool {
        let ranges = self.ranges.read(epoch);
        let is_near = || match addr {
            IpAddr::V4(addr) => self.addresses.covering4(interface, addr, epoch).is_some(),
            IpAddr::V6(addr) => self.addresses.covering6(interface, addr, epoch).is_some(),
        };
        ranges.by_interface.get(&interface).is_some_and(|own| holds(own, bits(addr)))
            || holds(&ranges.anywhere, bits(addr)) && is_near()
    }
}

impl Router {
    /// Answers for these addresses, in place of those that `owner` named before.
    pub fn answer_for(&mut self, owner: &'static str, addresses: Answered) {
        let answers: &mut Answers = self.own_mut();
        let old = answers.by_owner.insert(owner, addresses).unwrap_or_default();
        if answers.by_owner.get(owner) != Some(&old) {
            publish(self);
        }
    }
}

fn publish(router: &mut Router) {
    let answers: &mut Answers = router.own_mut();
    let ranges = Ranges::of(answers.by_owner.values().flatten());
    answers.shared.publish(ranges);
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        let answers: &mut Answers = router.own_mut();
        answers.by_owner.values_mut().for_each(|all| all.retain(|(on, _)| *on != Some(interface)));
        publish(router);
    }
}

pub(super) fn register(router: &mut Router) {
    let shared = Shared::new(Ranges::default());
    router.insert(Answers { by_owner: BTreeMap::new(), shared });
    router.interfaces.observe(interface_changed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one_and_hold_their_ends() {
        let mut all = vec![[7, 9], [1, 3], [4, 4], [2, 3], [20, u128::MAX]];
        join(&mut all);
        assert_eq!(all, [[1, 4], [7, 9], [20, u128::MAX]]);
        let held: Vec<u128> = (0..22).filter(|n| holds(&all, *n)).collect();
        assert_eq!(held, [1, 2, 3, 4, 7, 8, 9, 20, 21]);
        assert!(!holds(&[], 1) && holds(&all, u128::MAX));
    }

    #[test]
    fn addresses_of_one_version_are_none_of_the_other() {
        let four: IpAddr = "0.0.0.1".parse().unwrap();
        let six: IpAddr = "::1".parse().unwrap();
        let ranges = Ranges::of([(None, [four, four])].iter());
        assert!(holds(&ranges.anywhere, bits(four)) && !holds(&ranges.anywhere, bits(six)));
    }
}
