//! Messages of the module `tracedump`.
//!
//! The original copies what was traced into a cache that its clients page through. Ours is read
//! each time: it stays until it is cleared. Threads and packets are counted from 0.

use control::api::{Api, Message, Retval};
use graph::NodeIndex;

use super::functions::{Function, Use};
use super::{Filter, Rule, timestamps};
use crate::router::Router;

/// Packets in one reply when the request does not say.
const PIECE: usize = 50;
/// All threads.
const ALL: u32 = u32::MAX;
control::numbers! {
    /// Which packets to show.
    pub(super) enum FilterFlag: u32 = "trace_filter_flag" in "" {
        NONE = 0 => "TRACE_FF_NONE",
        INCLUDE_NODE = 1 => "TRACE_FF_INCLUDE_NODE",
        EXCLUDE_NODE = 2 => "TRACE_FF_EXCLUDE_NODE",
        INCLUDE_CLASSIFIER = 3 => "TRACE_FF_INCLUDE_CLASSIFIER",
        EXCLUDE_CLASSIFIER = 4 => "TRACE_FF_EXCLUDE_CLASSIFIER",
    }
}

/// Show only packets that visited, or did not visit, a node.
#[derive(Message)]
pub(super) struct TraceSetFilters {
    pub flag: FilterFlag,
    /// maximum packets to show
    pub count: u32,
    #[preset(4294967295)]
    pub node_index: u32,
    #[preset(4294967295)]
    pub classifier_table_index: u32,
}

/// Trace the next packets of an input node.
#[derive(Message)]
pub(super) struct TraceCapturePackets {
    pub node_index: u32,
    /// packets per thread
    pub max_packets: u32,
    pub use_filter: bool,
    pub verbose: bool,
    /// discard earlier traces
    pub pre_capture_clear: bool,
}

/// Discard traces and stop tracing.
#[derive(Message)]
pub(super) struct TraceClearCapture {}

/// List traced packets from a position.
#[derive(Message)]
#[stream(TraceDetails, TraceDumpReply)]
pub(super) struct TraceDump {
    /// discard the cached trace
    pub clear_cache: u8,
    /// first thread, from 0
    pub thread_id: u32,
    /// first packet of that thread, from 0
    pub position: u32,
    /// maximum packets in this reply
    pub max_records: u32,
}

/// Cursor for the next request.
#[derive(Message)]
pub(super) struct TraceDumpReply {
    pub last_thread_id: u32,
    pub last_position: u32,
    pub more_this_thread: u8,
    pub more_threads: u8,
    pub flush_only: u8,
    pub done: u8,
}

/// A traced packet.
#[derive(Message)]
#[head(request)]
pub(super) struct TraceDetails {
    pub thread_id: u32,
    pub position: u32,
    pub more_this_thread: u8,
    pub more_threads: u8,
    pub done: u8,
    pub packet_number: u32,
    pub trace_data: String,
}

/// Discard the cached trace.
#[derive(Message)]
pub(super) struct TraceClearCache {}

/// List traced packets.
#[derive(Message)]
#[details(TraceV2Details)]
pub(super) struct TraceV2Dump {
    /// thread, from 0; 4294967295 for all
    #[preset(4294967295)]
    pub thread_id: u32,
    /// first packet of each thread, from 0
    pub position: u32,
    /// maximum packets per thread
    #[preset(50)]
    pub max: u32,
    /// discard the cached trace and return nothing
    pub clear_cache: bool,
}

/// A traced packet.
#[derive(Message)]
pub(super) struct TraceV2Details {
    pub thread_id: u32,
    pub position: u32,
    /// true if the thread has more
    pub more: bool,
    pub trace_data: String,
}

/// Select the filter function for packet traces.
#[derive(Message)]
pub(super) struct TraceSetFilterFunction {
    pub filter_function_name: String,
}

/// List the filter functions for packet traces.
#[derive(Message)]
#[details(TraceFilterFunctionDetails)]
pub(super) struct TraceFilterFunctionDump {}

/// A filter function for packet traces.
#[derive(Message)]
pub(super) struct TraceFilterFunctionDetails {
    pub selected: bool,
    pub name: String,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("tracedump", "0.2.0")
        .call(set_filters)
        .call(capture)
        .call(|router, _: TraceClearCapture| {
            router.engine.clear_trace();
            Ok(())
        })
        .stream(dump)
        // Nothing is kept besides what was traced.
        .call(|_, _: TraceClearCache| Ok(()))
        .dump(dump_v2)
        .call(|router: &mut Router, m: TraceSetFilterFunction| {
            Ok(router.select_filter(&m.filter_function_name, Use::Traces)?)
        })
        .dump(|router, _: TraceFilterFunctionDump| {
            let functions = router.filter_functions(Use::Traces).into_iter();
            let row = |f: Function| TraceFilterFunctionDetails {
                selected: f.selected,
                name: f.name.to_owned(),
            };
            functions.map(row).collect::<Vec<_>>()
        });
}

fn node(router: &Router, index: u32) -> Result<NodeIndex, Retval> {
    let (engine, index) = (&router.engine, NodeIndex(index));
    let known = engine.index_of(engine.name_of(index)) == Some(index);
    if known { Ok(index) } else { Err(Retval::NO_SUCH_NODE) }
}

fn set_filters(router: &mut Router, m: TraceSetFilters) -> Result<(), Retval> {
    let rule = match m.flag {
        FilterFlag::NONE => None,
        FilterFlag::INCLUDE_NODE | FilterFlag::EXCLUDE_NODE => Some(Rule {
            includes: m.flag == FilterFlag::INCLUDE_NODE,
            node: node(router, m.node_index)?,
            count: m.count as usize,
        }),
        // Tables of the classifier choose what is traced, not what is shown of it.
        FilterFlag::INCLUDE_CLASSIFIER | FilterFlag::EXCLUDE_CLASSIFIER => {
            return Err(Retval::NO_SUCH_TABLE);
        }
        _ => return Err(Retval::INVALID_VALUE),
    };
    router.insert(Filter(rule));
    Ok(())
}

fn capture(router: &mut Router, m: TraceCapturePackets) -> Result<(), Retval> {
    let node = node(router, m.node_index)?;
    if !router.engine.starts_traces(node) {
        return Err(Retval::NO_SUCH_NODE);
    }
    if m.pre_capture_clear {
        router.engine.clear_trace();
    }
    router.start_trace(node, m.max_packets, m.use_filter);
    Ok(())
}

/// Texts of the packets of each thread.
fn texts(router: &mut Router) -> Vec<Vec<String>> {
    let threads = router.traced_packets().unwrap_or_default();
    let time = timestamps::of(router).writer(router);
    let text = |packet: &graph::TracedPacket| packet.text_at(&router.engine, router, &time);
    threads.iter().map(|thread| thread.packets.iter().map(text).collect()).collect()
}

fn dump(router: &mut Router, m: TraceDump) -> (Vec<TraceDetails>, Retval, TraceDumpReply) {
    let threads = texts(router);
    let max = if m.max_records == 0 { PIECE } else { m.max_records as usize };
    let all =
        threads.iter().enumerate().skip(m.thread_id as usize).flat_map(|(thread, packets)| {
            let first = if thread == m.thread_id as usize { m.position as usize } else { 0 };
            let packets = packets.iter().enumerate().skip(first);
            packets.map(move |(position, text)| (thread, position, text))
        });
    let more = |thread: usize, position: usize| {
        let this = position + 1 < threads[thread].len();
        let others = threads[thread + 1..].iter().any(|packets| !packets.is_empty());
        (u8::from(this), u8::from(others))
    };
    let rows = all.take(max).map(|(thread, position, text)| {
        let (more_this_thread, more_threads) = more(thread, position);
        TraceDetails {
            thread_id: thread as u32,
            position: position as u32,
            more_this_thread,
            more_threads,
            done: u8::from(more_this_thread == 0 && more_threads == 0),
            packet_number: position as u32,
            trace_data: text.clone(),
        }
    });
    let rows: Vec<_> = rows.collect();
    let last = rows.last();
    let reply = TraceDumpReply {
        last_thread_id: last.map_or(ALL, |row| row.thread_id),
        last_position: last.map_or(ALL, |row| row.position),
        more_this_thread: last.map_or(0, |row| row.more_this_thread),
        more_threads: last.map_or(0, |row| row.more_threads),
        flush_only: 0,
        done: last.map_or(1, |row| row.done),
    };
    (rows, Retval::OK, reply)
}

fn dump_v2(router: &mut Router, m: TraceV2Dump) -> Vec<TraceV2Details> {
    if m.clear_cache {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for (thread, packets) in texts(router).into_iter().enumerate() {
        if m.thread_id != ALL && m.thread_id as usize != thread {
            continue;
        }
        let count = packets.len();
        let shown = packets.into_iter().enumerate().skip(m.position as usize);
        rows.extend(shown.take(m.max as usize).map(|(position, trace_data)| TraceV2Details {
            thread_id: thread as u32,
            position: position as u32,
            more: position + 1 < count,
            trace_data,
        }));
    }
    rows
}
