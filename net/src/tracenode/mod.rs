//! `trace-filtering`: traces packets in the middle of the graph, where they are known to be IP and
//! for which interface, instead of where they come in.
//!
//! Enabled on an interface, the node starts the trace of as many packets of this interface as
//! `trace add trace-filtering COUNT` says. It takes all of them: there are no filters that choose.

mod node;
#[cfg(test)]
mod tests;

use control::api::{Api, Message};
use control::cli::{Cli, Command, Word};
use control::feature::Refused;

use crate::interface::{self, Change, InterfaceIndex};
use crate::ip4::IP4_UNICAST;
use crate::ip6::IP6_UNICAST;
use crate::router::{Feature, Origin, Parts, Router, refuse};
use node::Filtering;

/// Traces that begin in the middle of the graph.
pub const FEATURE: Feature = Feature {
    name: "tracenode",
    about: "Tracing packet node",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
};

/// Have packets of an interface traced from the feature on, or no longer.
#[derive(Command)]
#[command("tracenode feature")]
struct TraceNode {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
    /// no longer
    disable: bool,
    /// accepted: there are no filters, of traces or captures
    #[keyword("pcap")]
    _pcap: bool,
}

/// Have packets of an interface traced from the feature on, or no longer.
#[derive(Message)]
#[option("vat_help", "tracenode_enable_disable <intfc> [disable] [pcap]")]
struct TracenodeEnableDisable {
    /// interface
    sw_if_index: InterfaceIndex,
    /// which filters choose; there are none
    #[preset(false)]
    is_pcap: bool,
    /// or no longer
    #[preset("true")]
    enable: bool,
}

impl Router {
    /// Has packets of an interface traced by `trace-filtering`, or no longer.
    ///
    /// # Errors
    /// [`interface::Error::Unknown`].
    pub fn trace_on(
        &mut self,
        interface: InterfaceIndex,
        on: bool,
    ) -> Result<(), interface::Error> {
        self.interfaces.at(interface).ok_or(interface::Error::Unknown)?;
        for arc in [&IP4_UNICAST, &IP6_UNICAST] {
            self.engine.set_feature(arc, node::NAME, interface.0, on)?;
        }
        Ok(())
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let engine = &mut parts.router.engine;
    engine.add_feature(&IP4_UNICAST, Filtering).map_err(refuse)?;
    engine.place(&IP6_UNICAST, node::NAME).map_err(refuse)?;
    parts.router.interfaces.observe(|router, interface, change| {
        if change == Change::Deleting {
            // It is there until all observers know.
            let _ = router.trace_on(interface, false);
        }
    });
    commands(&mut parts.cli);
    messages(&mut parts.api);
    Ok(())
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: TraceNode| {
        let interface = interface::find(router, &c.interface)?;
        Ok(router.trace_on(interface, !c.disable)?)
    });
}

fn messages(api: &mut Api<Router>) {
    api.plugin("tracenode", "0.1.0").call(|router: &mut Router, m: TracenodeEnableDisable| {
        Ok(router.trace_on(m.sw_if_index, m.enable)?)
    });
}
