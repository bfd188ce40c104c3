//! `ip4-options`: packets that ask every router on their way to look at them (RFC 2113).

use std::convert::Infallible;

use graph::{Frame, Node};

use wire::{Protocol, ip4};

use super::V4;
use crate::ip::Headers;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const RECORD_ROUTE: u8 = 7;
const TIMESTAMP: u8 = 68;
const LOOSE_ROUTE: u8 = 131;
const STRICT_ROUTE: u8 = 137;
const ROUTER_ALERT: u8 = 148;

/// Gives packets with the router alert option to control. Messages about groups (RFC 3376 section
/// 4) go the way of their group, where routers listen that take part.
#[derive(Clone)]
pub struct Options;

/// Edges of [`Options`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To control.
    #[to("ip4-punt")]
    Punt,
    /// To a group.
    #[to("ip4-mfib-forward-lookup")]
    Multicast,
}

impl Node for Options {
    const NAME: &'static str = "ip4-options";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Headers::<V4>::of);
            let is_of_group =
                |ip: &ip4::Header| ip.protocol == Protocol::IGMP && ip.dst_addr().is_multicast();
            let is_of_group = p.header::<ip4::Header>().is_some_and(is_of_group);
            Ok(if is_of_group { Next::Multicast } else { Next::Punt })
        });
    }
}

/// The meaning of a header's options to a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestedOption {
    /// Nothing: they go on as they are.
    Nothing,
    /// To be inspected by the router.
    Attention,
    /// Wrong at this place, counted from the first of them.
    Wrong(usize),
}

/// Reads the options of a header (RFC 791 section 3.1). Those of kinds that are not known here are
/// right if their length is; of those that collect addresses or times, the pointer must lie where
/// there is room for one, or right after the option.
pub(super) fn read(options: &[u8]) -> RequestedOption {
    let (mut at, mut asked) = (0, RequestedOption::Nothing);
    while let Some(rest) = options.get(at..) {
        let len = match rest {
            [] | [END, ..] => break,
            [NO_OPERATION, ..] => 1,
            [_] => return RequestedOption::Wrong(at),
            [kind, len, ..] => {
                let len = usize::from(*len);
                let Some(option) = rest.get(..len).filter(|_| len >= 2) else {
                    return RequestedOption::Wrong(at + 1);
                };
                if *kind == ROUTER_ALERT {
                    asked = RequestedOption::Attention;
                }
                if let Some(wrong) = wrong_pointer(*kind, option) {
                    return RequestedOption::Wrong(at + wrong);
                }
                len
            }
        };
        at += len;
    }
    asked
}

/// Place of the fault in an option that has a pointer.
fn wrong_pointer(kind: u8, option: &[u8]) -> Option<usize> {
    let (first, entry) = match kind {
        RECORD_ROUTE | LOOSE_ROUTE | STRICT_ROUTE => (4, 4),
        // With addresses beside the times an entry is twice as long.
        TIMESTAMP if option.get(3).is_some_and(|flags| flags & 0xf == 0) => (5, 4),
        TIMESTAMP => (5, 8),
        _ => return None,
    };
    if option.len() < first - 1 {
        return Some(1);
    }
    let pointer = usize::from(option[2]);
    let has_room = pointer + entry - 1 <= option.len();
    (pointer < first || pointer <= option.len() && !has_room).then_some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn router_alert_is_found_behind_others() {
        let asks = |options: &[u8]| read(options) == RequestedOption::Attention;
        assert!(asks(&[148, 4, 0, 0]));
        assert!(asks(&[1, 7, 3, 4, 148, 4, 0, 0]));
        assert!(!asks(&[7, 3, 4, 0, 148, 4, 0, 0]), "behind the end");
    }

    #[test]
    fn what_is_wrong_with_options_is_pointed_at() {
        for right in [
            &[][..],
            &[0, 7, 9, 9],
            &[1, 1, 1, 1],
            &[7, 7, 4, 0, 0, 0, 0, 0],
            &[7, 7, 8, 10, 0, 0, 1, 0], // full
            &[131, 7, 4, 10, 0, 0, 9, 0],
            &[137, 3, 4, 0],
            &[68, 8, 5, 0, 0, 0, 0, 0],
            &[68, 4, 5, 0xf0],
            &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[200, 4, 9, 9], // of no known kind
        ] {
            assert_eq!(read(right), RequestedOption::Nothing, "{right:?}");
        }
        for (wrong, at) in [
            (&[7, 8, 148, 0][..], 1), // longer than there are
            (&[7, 0, 148, 4], 1),
            (&[200, 1, 148, 4], 1),
            (&[1, 1, 1, 7], 3), // nothing but the kind
            (&[1, 7, 2, 4], 2), // no room for the pointer
            (&[7, 7, 3, 0, 0, 0, 0, 0], 2),
            (&[1, 7, 7, 5, 0, 0, 0, 0], 3), // room for less than an address
            (&[131, 7, 0, 10, 0, 0, 9, 0], 2),
            (&[68, 8, 4, 0, 0, 0, 0, 0], 2),
            (&[68, 8, 5, 1, 0, 0, 0, 0], 2), // no room for address and time
            (&[148, 4, 0, 0, 7, 2, 0, 0], 5),
        ] {
            assert_eq!(read(wrong), RequestedOption::Wrong(at), "{wrong:?}");
        }
    }
}
