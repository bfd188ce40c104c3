//! Messages of the module `bpf_trace_filter`.
#![forbid(unsafe_code)]

use net::prelude::*;

/// Set or delete the filter of traces and captures.
#[derive(Message)]
pub struct BpfTraceFilterSet {
    /// false to delete
    #[preset(true)]
    pub is_add: bool,
    /// filter in tcpdump syntax
    pub filter: String,
}

/// Set or delete the filter of traces and captures.
#[derive(Message)]
pub struct BpfTraceFilterSetV2 {
    /// false to delete
    #[preset(true)]
    pub is_add: bool,
    /// optimize the compiled program
    #[preset(true)]
    pub optimize: bool,
    /// filter in tcpdump syntax
    pub filter: String,
}

pub(super) fn register(api: &mut Api<Router>) {
    let set = |router: &mut Router, adds, text: &str, optimizes| {
        let done = if adds { super::set(router, text, optimizes) } else { super::remove(router) };
        Ok::<(), Retval>(done?)
    };
    api.plugin("bpf_trace_filter", "0.1.0")
        .call(move |router: &mut Router, m: BpfTraceFilterSet| {
            set(router, m.is_add, &m.filter, true)
        })
        .call(move |router: &mut Router, m: BpfTraceFilterSetV2| {
            set(router, m.is_add, &m.filter, m.optimize)
        });
}
