//! Stacking: mid-chain adjacencies of tunnels lie on path lists, which follow the routes to the
//! tunnels' far ends.

use super::path::Path;
use crate::adjacency::{self, AdjacencyIndex};
use crate::fib::forwarding::load_balance::Via;
use crate::router::Router;

/// Load balances that lead to one another, at most.
const DEPTH: usize = 8;

impl Router {
    /// Stacks an adjacency on paths; returns the path list and the load balance that follows it.
    /// `None` when there is no room, or not the table.
    pub(crate) fn stack_list(
        &mut self,
        chain: AdjacencyIndex,
        paths: &[Path],
    ) -> Option<(u32, u32)> {
        let list = self.hold_list(paths, None).ok()?;
        let Some(balance) = self.balance_for(false, list) else {
            self.release_list(list);
            return None;
        };
        let chains = &mut self.fib.lists.at_mut(list).chains;
        if !chains.contains(&chain) {
            chains.push(chain);
        }
        Some((list, balance))
    }
    /// Gives up the path list that an adjacency was stacked on; it now is on another one, or none.
    pub(crate) fn unstack_list(&mut self, chain: AdjacencyIndex, list: u32, now: Option<u32>) {
        if now != Some(list) {
            self.fib.lists.at_mut(list).chains.retain(|c| *c != chain);
        }
        self.release_list(list);
    }
    /// The entry that a path list leads to, and where its load balance does, as `show adj` says it.
    pub(crate) fn describe_stack(&self, list: u32, balance: u32) -> String {
        let to = self.fib.lists.at(list).recursions().next();
        let number = to.and_then(|to| Some(self.fib.entry_of(to)?.number));
        let mut via = Via::LoadBalance(balance);
        for _ in 0..DEPTH {
            let Via::LoadBalance(next) = via else { break };
            via = self.fib.balances.at(next).single().unwrap_or(via);
        }
        let entry = number.map_or_else(String::new, |number| format!(" entry:{number}"));
        let end = match via {
            Via::Adjacency(a) => format!("[@5]: {}", adjacency::describe(self, a)),
            Via::LoadBalance(index) => format!("[@13]: dpo-load-balance: [index:{index}]"),
            _ => "[@0]: dpo-drop".to_owned(),
        };
        format!("{entry}:\n        {end}")
    }
    /// The lists with paths over the interfaces of these adjacencies.
    pub(super) fn lists_over_chains(&self, chains: &[AdjacencyIndex]) -> Vec<u32> {
        let tunnels = chains.iter().filter_map(|c| Some(self.adjacencies.at(*c)?.interface));
        tunnels.flat_map(|tunnel| self.fib.lists.over(tunnel)).collect()
    }
    /// Whether packets of a list get to the far end of the tunnel that an adjacency of it leads
    /// into, without coming back to the list. Always, for what is no tunnel.
    pub(super) fn is_chain_usable(&self, adjacency: AdjacencyIndex, list: u32) -> bool {
        let is_carried = self.adjacencies.stack_of(adjacency).is_none();
        self.list_below(adjacency).is_none_or(|below| {
            (is_carried || self.fib.lists.at(below).leads_on) && !self.reaches(below, list)
        })
    }
    /// The path list that packets of an adjacency follow with the headers of a tunnel in front,
    /// which the adjacency or the interface puts there.
    pub(super) fn list_below(&self, adjacency: AdjacencyIndex) -> Option<u32> {
        self.adjacencies.stack_of(adjacency).or_else(|| {
            let interface = self.adjacencies.at(adjacency)?.interface;
            self.fib.balances.list_of(self.adjacencies.carrier_of(interface)?)
        })
    }
}
