//! `trace-filtering`: traces packets in the middle of the graph, where they are known to be IP and
//! for which interface, instead of on receive.
//!
//! Enabled on an interface, the node starts the trace of as many packets of this interface as
//! `trace add trace-filtering COUNT` says. With
//! `filter` it takes those that the filter of traces chooses.
#![forbid(unsafe_code)]

mod node;

use net::prelude::*;

pub use node::{Filtering, Next};

/// Traces that begin in the middle of the graph.
pub const FEATURE: Feature = Feature {
    name: "tracenode",
    about: "Tracing packet node",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::None("packets are traced for a while"),
};

/// The setting of an interface: whether its packets are traced.
#[derive(Clone, Default, PartialEq)]
struct IsTraced(bool);

/// Reasons why the feature is not switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
}

/// Enable or disable packet tracing in a feature node of an interface.
#[derive(Command)]
#[command("tracenode feature")]
struct TraceNode {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// disable
    disable: bool,
    /// accepted: use `trace add trace-filtering COUNT filter` to trace through the filter
    #[keyword("pcap")]
    _pcap: bool,
}

/// Enable or disable packet tracing in a feature node of an interface.
#[derive(Message)]
#[option("vat_help", "tracenode_enable_disable <intfc> [disable] [pcap]")]
pub struct TracenodeEnableDisable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// accepted: the trace settings decide whether the filter applies
    #[preset(false)]
    pub is_pcap: bool,
    /// true to enable, false to disable
    #[preset("true")]
    pub enable: bool,
}

/// Enables or disables tracing of an interface's packets in `trace-filtering`.
///
/// # Errors
/// [`Error`].
pub fn set(router: &mut Router, interface: InterfaceIndex, is_on: bool) -> Result<(), Error> {
    Ok(router.put(interface, IsTraced(is_on))?)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<IsTraced>().map_err(refuse)?;
    router.engine.add_feature(&IP4_UNICAST, Filtering).map_err(refuse)?;
    router.engine.place(&IP6_UNICAST, node::NAME).map_err(refuse)?;
    let at = |arc| AttachedAt::<IsTraced> { arc, node: node::NAME, is_on: |traced| traced.0 };
    router.attach_at([at(&IP4_UNICAST), at(&IP6_UNICAST)]);
    commands(&mut parts.cli);
    messages(&mut parts.api);
    Ok(())
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: TraceNode| Ok(set(router, c.interface, !c.disable)?));
}

fn messages(api: &mut Api<Router>) {
    api.plugin("tracenode", "0.1.0").call(|router: &mut Router, m: TracenodeEnableDisable| {
        Ok(set(router, m.sw_if_index, m.enable)?)
    });
}
