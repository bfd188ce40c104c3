//! Memory of nodes that are gone: the tables of nodes and counters end behind the last that is in
//! use.

use super::spec::{Engine, Spec, Target};

/// Fewer nodes than these are kept for the next ones.
const MANY: usize = 1024;

impl Spec {
    /// Takes off the last edges as long as they lead to nodes that are gone.
    fn cut_edges(&mut self, gone: &[bool]) -> bool {
        let own = self.arcs.iter().map(|arc| (arc.base + arc.room) as usize).max().unwrap_or(0);
        let kept = own.max(self.drop_slot as usize + 1);
        let is_gone = |edge: &Target| matches!(edge, Target::Node(to) if gone[to.0 as usize]);
        let before = self.edges.len();
        while self.edges.len() > kept && self.edges.last().is_some_and(is_gone) {
            self.edges.pop();
        }
        if self.edges.len() == before {
            return false;
        }
        self.edges.shrink_to_fit();
        self.slots = Default::default();
        true
    }
}

impl Engine {
    /// Frees the memory of many removed nodes, after a while, when no edge or number of them is in
    /// use.
    pub fn give_back(&mut self) {
        self.errors.give_back();
        let mut gone = vec![false; self.specs.len()];
        self.deleted.iter().for_each(|node| gone[node.0 as usize] = true);
        let end = gone.iter().rposition(|is_gone| !is_gone).map_or(0, |at| at + 1);
        if self.specs.len() - end < MANY {
            return;
        }
        let mut cut = Vec::new();
        let mut last = end;
        for (at, spec) in (0u32..).zip(&mut self.specs[..end]) {
            if !gone[at as usize] && spec.cut_edges(&gone) {
                cut.push((at, spec.edges.len()));
            }
            // An edge between others still leads there.
            let ends = spec.edges.iter().filter_map(|edge| match edge {
                Target::Node(to) => Some(to.0 as usize + 1),
                Target::Name(_) => None,
            });
            last = ends.fold(last, usize::max);
        }
        self.specs.truncate(last);
        self.specs.shrink_to_fit();
        self.deleted.retain(|node| (node.0 as usize) < last);
        self.deleted.shrink_to_fit();
        self.post_all(|_| {
            let cut = cut.clone();
            Box::new(move |core| {
                for (node, edges) in cut {
                    let own = &mut core.nodes[node as usize].edges;
                    own.truncate(edges);
                    own.shrink_to_fit();
                }
                // Between two loops no frame waits.
                core.nodes.truncate(last);
                core.inputs.retain(|node| (*node as usize) < last);
            })
        });
    }
}
