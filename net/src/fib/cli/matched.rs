//! The route that a packet met, in words.

use crate::fib::control::path::{Path, TableIndex, Target};
use crate::fib::family::Family;
use crate::router::Router;

impl Router {
    /// The longest prefix of a table that covers an address, its source and its paths: one line for
    /// the prefix and one for each path.
    pub(crate) fn matched_route<F: Family>(&self, table: TableIndex, dst: F::Bits) -> Vec<String> {
        let addr = F::addr(dst);
        let Some(t) = F::tables(&self.fib).at(table) else {
            return vec![format!("no table to look up {addr} in")];
        };
        let Some((key, entry)) = t.longest(dst, F::BITS) else {
            return vec![format!("no route for {addr} in table {}", t.id)];
        };
        let (id, prefix, source) = (t.id, F::prefix(key), self.fib.sources.name(entry.source));
        let mut said = vec![format!("{addr} in table {id}: {prefix} matches ({source})")];
        let Some(list) = self.fib.lists.find(entry.list) else { return said };
        for (path, usable) in list.paths.iter().zip(&list.usable) {
            let state = if *usable { "" } else { ", which cannot be used now" };
            said.push(format!("leads {}{state}", self.target_words(path)));
        }
        said
    }
    fn target_words(&self, path: &Path) -> String {
        let name = |interface: crate::InterfaceIndex| self.interfaces.name(interface.0);
        match path.target {
            Target::Neighbor { interface, addr }
            | Target::ForeignNeighbor { interface, addr, .. } => {
                format!("to neighbour {addr} on {}", name(interface))
            }
            Target::Attached { interface, .. } => format!("to hosts on {}", name(interface)),
            Target::Recursive { to, .. } => format!("along the route to {}", to.addr),
            Target::Receive { interface: Some(interface), .. } => {
                format!("to this router, on {}", name(interface))
            }
            Target::Receive { .. } => "to this router".to_owned(),
            Target::Lookup { table, .. } => format!("to a lookup in another table ({})", table.0),
            Target::SourceLookup { table, .. } => {
                format!("to a lookup of the source in another table ({})", table.0)
            }
            Target::InterfaceRx { interface } => {
                format!("received again, on {}", name(interface))
            }
            Target::LinkLocal => "to the link-local addresses of its interface".to_owned(),
            Target::Drop | Target::Exempt => "nowhere: packets are dropped".to_owned(),
            Target::Unreachable => "to an ICMP error: unreachable".to_owned(),
            Target::Prohibit => "to an ICMP error: prohibited".to_owned(),
            Target::Punt => "to control (punt)".to_owned(),
            Target::Object(_) => "to an object of a feature".to_owned(),
            Target::Label { label, .. } => format!("to label {label}"),
        }
    }
}
