//! Messages of the module `vlib`: nodes of the graph, threads.

use control::api::{Api, Message, Record, Retval, Text};
use graph::NodeIndex;

use super::threads;
use crate::router::Router;

/// Get the index of a node.
#[derive(Message)]
#[reply(GetNodeIndexReply)]
struct GetNodeIndex {
    node_name: Text<64>,
}

/// Index of a node.
#[derive(Message)]
struct GetNodeIndexReply {
    node_index: u32,
}

/// Add an edge between two nodes, or find it.
#[derive(Message)]
#[reply(AddNodeNextReply)]
struct AddNodeNext {
    node_name: Text<64>,
    next_name: Text<64>,
}

/// Index of an edge.
#[derive(Message)]
struct AddNodeNextReply {
    next_index: u32,
}

/// List threads.
#[derive(Message)]
#[reply(ShowThreadsReply)]
struct ShowThreads {}

/// A thread.
#[derive(Record)]
struct ThreadData {
    id: u32,
    name: Text<64>,
    /// purpose; empty for the main thread
    #[name("type")]
    kind: Text<64>,
    /// thread ID in the operating system
    pid: u32,
    cpu_id: u32,
    core: u32,
    cpu_socket: u32,
}

/// The threads.
#[derive(Message)]
struct ShowThreadsReply {
    #[counted(count: u32)]
    thread_data: Vec<ThreadData>,
}

/// Find an edge between two nodes.
#[derive(Message)]
#[reply(GetNextIndexReply)]
struct GetNextIndex {
    node_name: Text<64>,
    next_name: Text<64>,
}

/// Index of an edge.
#[derive(Message)]
struct GetNextIndexReply {
    next_index: u32,
}

/// Check the byte order of floating-point numbers.
#[derive(Message)]
#[name("get_f64_endian_value")]
#[reply(F64EndianValueReply)]
struct F64EndianValue {
    #[preset(1.0)]
    f64_one: f64,
}

/// The number received.
#[derive(Message)]
#[name("get_f64_endian_value_reply")]
#[head(details)]
struct F64EndianValueReply {
    retval: u32,
    f64_one_result: f64,
}

/// Add one to a number.
#[derive(Message)]
#[name("get_f64_increment_by_one")]
#[reply(F64IncrementByOneReply)]
struct F64IncrementByOne {
    #[preset(1.0)]
    f64_value: f64,
}

/// The number plus one.
#[derive(Message)]
#[name("get_f64_increment_by_one_reply")]
#[head(details)]
struct F64IncrementByOneReply {
    retval: u32,
    f64_value: f64,
}

/// Run a command at an address in the original's shared memory: refused; use `cli_inband`.
#[derive(Message)]
#[reply(CliReply)]
struct Cli {
    cmd_in_shmem: u64,
}

/// Refused: an address in another process says nothing.
#[derive(Message)]
struct CliReply {
    reply_in_shmem: u64,
}

/// Get the graph at an address in the original's shared memory: refused; use `get_node_index`.
#[derive(Message)]
#[reply(GetNodeGraphReply)]
struct GetNodeGraph {}

/// Refused: an address in another process says nothing.
#[derive(Message)]
struct GetNodeGraphReply {
    reply_in_shmem: u64,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("vlib", "1.0.0")
        .call(|_: &mut Router, _: Cli| Err::<CliReply, _>(Retval::UNSUPPORTED))
        .call(|_: &mut Router, _: GetNodeGraph| Err::<GetNodeGraphReply, _>(Retval::UNSUPPORTED))
        .call(|router, m: GetNodeIndex| {
            let node = find(router, &m.node_name, Retval::NO_SUCH_NODE)?;
            Ok(GetNodeIndexReply { node_index: node.0 })
        })
        .call(|router, m: AddNodeNext| {
            find(router, &m.node_name, Retval::NO_SUCH_NODE)?;
            find(router, &m.next_name, Retval::NO_SUCH_NODE_2)?;
            let slot = router.engine.connect(&m.node_name, &m.next_name);
            let slot = slot.map_err(|_| Retval::UNSPECIFIED)?;
            Ok(AddNodeNextReply { next_index: slot.0 })
        })
        .call(|router, _: ShowThreads| Ok(ShowThreadsReply { thread_data: threads_of(router) }))
        .call(|router, m: GetNextIndex| {
            let node = find(router, &m.node_name, Retval::NO_SUCH_NODE)?;
            let next = find(router, &m.next_name, Retval::NO_SUCH_NODE_2)?;
            let edges = router.engine.edge_counts(node).map_err(|_| Retval::UNSPECIFIED)?;
            let edge = edges.iter().find(|e| e.node == next.0).ok_or(Retval::NO_SUCH_NODE_2)?;
            Ok(GetNextIndexReply { next_index: edge.slot })
        })
        .call(|_, m: F64EndianValue| {
            Ok(F64EndianValueReply { retval: 0, f64_one_result: m.f64_one })
        })
        .call(|_, m: F64IncrementByOne| {
            Ok(F64IncrementByOneReply { retval: 0, f64_value: m.f64_value + 1.0 })
        });
}

fn find(router: &Router, name: &str, missing: Retval) -> Result<NodeIndex, Retval> {
    router.engine.index_of(name).ok_or(missing)
}

fn threads_of(router: &mut Router) -> Vec<ThreadData> {
    let threads = threads::all(router).into_iter().map(|thread| {
        let cpu = thread.cpu.and_then(|cpu| u32::try_from(cpu).ok());
        let socket = thread.cpu.and_then(infra::cpu::numa_node).unwrap_or(0);
        ThreadData {
            id: thread.id as u32,
            name: thread.name.into(),
            kind: if thread.id == 0 { "" } else { "workers" }.into(),
            pid: thread.lwp,
            cpu_id: cpu.unwrap_or(u32::MAX),
            core: cpu.unwrap_or(u32::MAX),
            cpu_socket: socket as u32,
        }
    });
    threads.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::bench;
    use super::*;

    #[test]
    fn nodes_and_edges_have_numbers() {
        let mut b = bench();
        b.talk(|local, router| {
            let node = local.call(router, &GetNodeIndex { node_name: "filter".into() }).unwrap();
            let index = router.engine.index_of("filter").unwrap();
            assert_eq!(node.node_index, index.0);
            let missing = local.call(router, &GetNodeIndex { node_name: "nosuch".into() });
            assert_eq!(missing.err(), Some(Retval::NO_SUCH_NODE));
            let add = |to: &str| AddNodeNext { node_name: "filter".into(), next_name: to.into() };
            let ask = |to: &str| GetNextIndex { node_name: "filter".into(), next_name: to.into() };
            assert_eq!(local.call(router, &ask("filter")).err(), Some(Retval::NO_SUCH_NODE_2));
            let added = local.call(router, &add("filter")).unwrap().next_index;
            assert_eq!(local.call(router, &ask("filter")).unwrap().next_index, added);
            assert_eq!(local.call(router, &add("nosuch")).err(), Some(Retval::NO_SUCH_NODE_2));
        });
    }

    #[test]
    fn threads_and_numbers_with_a_fraction() {
        let mut b = bench();
        b.talk(|local, router| {
            let threads = local.call(router, &ShowThreads {}).unwrap().thread_data;
            assert!(threads.is_empty(), "the bench runs in the test's own");
            let one = local.call(router, &F64EndianValue { f64_one: 1.0 }).unwrap();
            assert_eq!((one.retval, one.f64_one_result), (0, 1.0));
            let two = local.call(router, &F64IncrementByOne { f64_value: 1.0 }).unwrap();
            assert_eq!((two.retval, two.f64_value), (0, 2.0));
        });
    }
}
