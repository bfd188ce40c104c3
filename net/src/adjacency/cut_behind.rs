//! Interfaces whose packets are fragmented after `ip4-rewrite` and `ip6-rewrite`.

use super::Role;
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Leaves it to a feature of an interface's output to cut packets that may be cut: what is too
    /// big for the link reaches that feature in one piece. Tunnels are not concerned.
    pub fn cut_behind(&mut self, interface: InterfaceIndex, is_on: bool) {
        let all = &mut self.adjacencies;
        let is_new = match is_on {
            true => all.cut_behind.insert(interface),
            false => all.cut_behind.remove(&interface),
        };
        if !is_new {
            return;
        }
        let mine: Vec<_> = all.on(interface).map(|(key, index)| (key.2, *index)).collect();
        for (_, index) in mine.into_iter().filter(|(role, _)| *role != Role::Midchain) {
            all.change(index, |a| a.is_cut_behind = is_on);
        }
    }
}
