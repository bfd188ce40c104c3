//! Tunnels that IPsec protects: packets that arrive unencrypted are dropped.
#![forbid(unsafe_code)]

use super::state::Common;
use super::{End, Tuple};
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Makes a tunnel drop packets that arrive unprotected, or accept them again: those of a
    /// protected tunnel come from the nodes that decrypt them.
    pub fn seal_tunnel(&mut self, interface: InterfaceIndex, is_sealed: bool) {
        let common = self.own_mut::<Common>();
        let found: Vec<(Tuple, End)> = match common.multipoint.get_mut(&interface) {
            Some((_, end)) => {
                end.is_sealed = is_sealed;
                let mine = common.ends.iter().filter(|(_, end)| end.interface == interface);
                mine.map(|(tuple, end)| (*tuple, *end)).collect()
            }
            None => {
                let tuple = common.received.get(&interface);
                tuple.and_then(|t| Some((*t, *common.ends.at(t)?))).into_iter().collect()
            }
        };
        for (tuple, end) in found.into_iter().filter(|(_, end)| end.is_sealed != is_sealed) {
            common.ends.put(tuple, Some(End { is_sealed, ..end }));
        }
    }
}
