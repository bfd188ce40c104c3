//! `ip4-options`: packets that ask every router on their way to look at them (RFC 2113).

use std::convert::Infallible;

use graph::{Frame, Node};

use super::V4;
use crate::ip::Headers;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const ROUTER_ALERT: u8 = 148;

/// Gives packets with the router alert option to control.
#[derive(Clone)]
pub struct Options;

/// Edges of [`Options`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To control.
    #[to("ip4-punt")]
    Punt,
}

impl Node for Options {
    const NAME: &'static str = "ip4-options";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Headers::<V4>::of);
            Ok(Next::Punt)
        });
    }
}

/// Whether the options of a header (RFC 791 section 3.1) hold a router alert. Options that cannot
/// be read end the search: routers forward what they do not understand.
pub(super) fn has_router_alert(mut options: &[u8]) -> bool {
    loop {
        let len = match options {
            [] | [END, ..] => return false,
            [ROUTER_ALERT, ..] => return true,
            [NO_OPERATION, ..] => 1,
            [_, len, ..] if *len >= 2 => usize::from(*len),
            _ => return false,
        };
        options = options.get(len..).unwrap_or(&[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn router_alert_is_found_behind_others() {
        assert!(has_router_alert(&[148, 4, 0, 0]));
        assert!(has_router_alert(&[1, 7, 3, 4, 148, 4, 0, 0]));
        assert!(!has_router_alert(&[7, 3, 4, 0, 148, 4, 0, 0]), "behind the end");
        assert!(!has_router_alert(&[7, 8, 148, 0]), "longer than there are");
        assert!(!has_router_alert(&[7, 0, 148, 4]), "of no length");
        assert!(!has_router_alert(&[7]));
        assert!(!has_router_alert(&[]));
    }
}
