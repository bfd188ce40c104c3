//! Messages of the module `tracepath`.

use control::api::{Api, Message, Record, Text};

use super::traced;
use net::Router;

/// A node on a path.
#[derive(Record)]
pub struct TracePathNode {
    /// node name
    pub name: Text<64>,
}

/// Show the distinct paths of traced packets through the graph.
#[derive(Message)]
#[details(TracepathDetails)]
pub struct TracepathDump {}

/// A path of traced packets.
#[derive(Message)]
pub struct TracepathDetails {
    /// path ID: equal for equal node sequences
    pub path_id: u64,
    /// packets on this path
    pub n_pkts: u32,
    /// threads the packets started on, as bits
    pub thread_bitmap: u64,
    /// in order of the visits
    #[counted(n_nodes: u32)]
    pub nodes: Vec<TracePathNode>,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("tracepath", "0.0.1").dump(|router: &mut Router, _: TracepathDump| {
        // Without an answer of a thread there is nothing to tell.
        let paths = traced(router).unwrap_or_default();
        let details = paths.iter().map(|path| TracepathDetails {
            path_id: path.id(),
            n_pkts: path.packets.len() as u32,
            thread_bitmap: path.threads,
            nodes: path
                .nodes
                .iter()
                .map(|name| TracePathNode { name: name.clone().into() })
                .collect(),
        });
        details.collect()
    });
}
