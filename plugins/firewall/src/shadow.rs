//! Rules that no packet meets, as those in front of them are about all of its packets: together,
//! not each alone.
//!
//! A rule is a union of boxes: intervals of source, destination, protocol and ports, one version of
//! IP each. What is left of a rule's boxes when all earlier ones are cut out of them is exactly
//! what can meet it.

use wire::Protocol;

use super::list::Resolved;
use super::object::{ALL, Service};

/// Intervals of a box: source, destination, protocol, and the two numbers of the upper layer.
const SIDES: usize = 5;
/// Boxes of a rule at most, and parts that may be left of one while others are cut out.
const MOST_PARTS: usize = 4096;
/// Cuts that all rules together may take.
const MOST_CUTS: usize = 20_000_000;

/// Intervals, both ends included, of one version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    is_6: bool,
    sides: [(u128, u128); SIDES],
}

impl Block {
    /// Whether they have a packet in common.
    fn meets(&self, other: &Self) -> bool {
        let mut sides = self.sides.iter().zip(&other.sides);
        self.is_6 == other.is_6 && sides.all(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
    }
    /// Adds what is left when another one that it meets is cut out.
    fn without(mut self, other: &Self, out: &mut Vec<Self>) {
        for side in 0..SIDES {
            let ((low, high), (first, last)) = (self.sides[side], other.sides[side]);
            if low < first {
                let mut part = self;
                part.sides[side] = (low, first - 1);
                out.push(part);
                self.sides[side].0 = first;
            }
            if high > last {
                let mut part = self;
                part.sides[side] = (last + 1, high);
                out.push(part);
                self.sides[side].1 = last;
            }
        }
    }
}

/// The intervals of a service.
fn sides(service: &Service) -> [(u128, u128); 3] {
    let wide = |(low, high): (u16, u16), most: u16| (low.into(), high.min(most).into());
    let most = match Protocol(service.protocol) {
        Protocol::ICMP | Protocol::ICMP6 => u8::MAX.into(),
        _ => ALL.1,
    };
    let protocol = match service.protocol {
        0 => (0, u8::MAX.into()),
        number => (number.into(), number.into()),
    };
    [protocol, wide(service.first, most), wide(service.second, most)]
}

/// The boxes of a rule; `None` when they are too many.
pub fn blocks(rule: &Resolved) -> Option<Vec<Block>> {
    let mut out = Vec::new();
    for from in &rule.from {
        for to in rule.to.iter().filter(|to| to.is_6 == from.is_6) {
            for service in rule.services.iter().filter(|service| service.is_of(from.is_6)) {
                let [protocol, first, second] = sides(service);
                let ends = [(from.first, from.last), (to.first, to.last)];
                let sides = [ends[0], ends[1], protocol, first, second];
                out.push(Block { is_6: from.is_6, sides });
                if out.len() > MOST_PARTS {
                    return None;
                }
            }
        }
    }
    Some(out)
}

/// Reachability of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Packets can meet it.
    Met,
    /// None can: these rules in front of it, by position, are about all of its packets.
    Shadowed(Vec<usize>),
    /// That would take too long to find out.
    Unknown,
}

/// Reachability of each of these rules, in order.
pub fn reach(rules: &[Option<Vec<Block>>]) -> Vec<Reach> {
    let mut left = MOST_CUTS;
    let of = |at: usize| reach_of(&rules[..at], rules[at].as_deref()?, &mut left);
    (0..rules.len()).map(of).map(|found| found.unwrap_or(Reach::Unknown)).collect()
}

fn reach_of(earlier: &[Option<Vec<Block>>], rule: &[Block], left: &mut usize) -> Option<Reach> {
    let (mut parts, mut by, mut is_unsure) = (rule.to_vec(), Vec::new(), false);
    for (at, blocks) in earlier.iter().enumerate() {
        // One with too many boxes may cover it, and is never asked.
        let Some(blocks) = blocks else {
            is_unsure = true;
            continue;
        };
        let mut cuts = false;
        for block in blocks {
            let mut next = Vec::new();
            for part in parts {
                *left = left.checked_sub(1)?;
                if part.meets(block) {
                    cuts = true;
                    part.without(block, &mut next);
                } else {
                    next.push(part);
                }
            }
            if next.len() > MOST_PARTS {
                return None;
            }
            parts = next;
        }
        if cuts {
            by.push(at);
        }
        if parts.is_empty() {
            return Some(Reach::Shadowed(by));
        }
    }
    if is_unsure { None } else { Some(Reach::Met) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::object::Span;

    fn rule(from: (u32, u32), to: (u32, u32), service: &str) -> Resolved {
        let span = |(first, last): (u32, u32)| {
            vec![Span { is_6: false, first: first.into(), last: last.into() }]
        };
        let services = match service {
            "" => vec![Service::ANY],
            words => words.split(' ').map(|word| word.parse().unwrap()).collect(),
        };
        Resolved { from: span(from), to: span(to), services }
    }

    fn reach_of(rules: &[Resolved]) -> Vec<Reach> {
        reach(&rules.iter().map(blocks).collect::<Vec<_>>())
    }

    #[test]
    fn two_halves_together_cover_a_whole() {
        let rules = [
            rule((0, 7), (0, 9), "tcp/1-100"),
            rule((8, 15), (0, 9), "tcp/1-200"),
            rule((0, 15), (3, 3), "tcp/80 tcp/90-100"),
            rule((0, 15), (3, 3), "tcp/80 tcp/90-101"),
            rule((0, 3), (0, 3), "icmp"),
            rule((0, 3), (0, 3), "icmp/0-255"),
        ];
        let found = reach_of(&rules);
        assert_eq!(found[2], Reach::Shadowed(vec![0, 1]));
        assert_eq!((&found[3], &found[4]), (&Reach::Met, &Reach::Met));
        assert_eq!(found[5], Reach::Shadowed(vec![4]));
    }

    /// Whether a rule is about a packet of a small world.
    fn is_about(rule: &Resolved, packet: (u128, u128, u8, u16)) -> bool {
        let (src, dst, protocol, port) = packet;
        let is_in = |span: &Span, at| span.first <= at && at <= span.last;
        rule.from.iter().any(|span| is_in(span, src))
            && rule.to.iter().any(|span| is_in(span, dst))
            && rule.services.iter().any(|s| {
                s.protocol == 0
                    || s.protocol == protocol && s.second.0 <= port && port <= s.second.1
            })
    }

    fn any_rule() -> impl Strategy<Value = Resolved> {
        let span = || (0u32..4, 0u32..4).prop_map(|(a, b)| (a.min(b), a.max(b)));
        let service = (0u8..4, 0u16..3, 0u16..3).prop_map(|(kind, a, b)| match kind {
            0 => String::new(),
            1 => "udp".to_owned(),
            _ => format!("tcp/{}-{}", a.min(b), a.max(b)),
        });
        (span(), span(), service).prop_map(|(from, to, service)| rule(from, to, &service))
    }

    proptest! {
        #[test]
        fn a_rule_is_shadowed_when_no_packet_meets_it(
            rules in prop::collection::vec(any_rule(), 1..9)
        ) {
            // Ports beyond those of rules, and protocols beyond those, stand for all others.
            let mut met = vec![false; rules.len()];
            for (src, dst) in (0..4).flat_map(|src| (0..4).map(move |dst| (src, dst))) {
                let ports = |protocol| (0..4).map(move |port| (protocol, port));
                for (protocol, port) in [6, 17, 99].into_iter().flat_map(ports) {
                    let packet = (src, dst, protocol, port);
                    if let Some(at) = rules.iter().position(|rule| is_about(rule, packet)) {
                        met[at] = true;
                    }
                }
            }
            for (found, met) in reach_of(&rules).iter().zip(met) {
                prop_assert_eq!(matches!(found, Reach::Met), met);
            }
        }
    }
}
