//! Layer 2: bridge domains with learning and flooding (IEEE 802.1D, 802.1Q), cross-connects, VLAN
//! tag rewrite and patches.
//!
//! Frames of bridged interfaces come from `ethernet-input` and pass the features of
//! [`net::ethernet::L2_INPUT`]: a bitmap that `l2-input` puts on each frame, the interface's
//! without what this kind of frame does not need. So a unicast frame takes `l2-learn`, `l2-fwd` and
//! `l2-output`, a broadcast `l2-learn`, `l2-flood` and `l2-output`. Addresses of all domains are in
//! one exact-match table that nodes learn into ([`infra::table::exact`]); what is flushed counts no
//! longer from the next frame on, as domain and interface have another sequence number.
#![forbid(unsafe_code)]

mod api;
pub mod arcs;
mod arp_term;
mod block;
mod bvi;
mod cli;
mod configuration;
pub mod domain;
mod fast_path;
pub mod fib;
mod flood;
mod forward;
pub mod input;
mod learn;
mod mac_cli;
mod mac_list;
mod mac_messages;
pub mod macs;
mod messages;
mod output;
pub mod packet;
mod pass;
mod port_cli;
mod protocols;
pub mod rewrite;
mod scan;
mod show;
pub mod state;

use control::configuration::Configuration;
use graph::BLOCK;
use net::ethernet::{L2_INPUT, L2_OUTPUT, lend_layer2};
use net::interface::DEVICE_INPUT;
use net::ip::add_with_outputs;
use net::prelude::*;

pub use arp_term::Heard;
use fast_path::FastPath;
pub use mac_messages::*;
pub use messages::*;

/// Bridging.
pub const FEATURE: Feature = Feature {
    name: "l2",
    about: "Bridge domains, cross-connects and VLAN tag rewrite",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet", "ip4", "ip6", "arp"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let bridging = state::Bridging::new().map_err(refuse)?;
    let tables = bridging.tables();
    router.insert(bridging);
    add_nodes(router, &tables)?;
    add_patch(router)?;
    router.register_layer2("l2-input").map_err(refuse)?;
    router.interfaces.observe(follow);
    router.addresses.show_layer2(show::place);
    let events = &mut router.events;
    events.handle::<learn::TableFilling>(|router, _| scan::wake(router));
    events.handle::<arp_term::Heard>(|router, heard| api::tell_heard(router, &heard));
    scan::spawn(router);
    cli::register(&mut parts.cli);
    port_cli::register(&mut parts.cli);
    mac_cli::register(&mut parts.cli);
    mac_list::register(&mut parts.cli);
    show::register(&mut parts.cli);
    bvi::register(parts);
    api::register(&mut parts.api);
    Ok(())
}

fn add_nodes(router: &mut Router, tables: &state::Tables) -> Result<(), Refused> {
    let (interfaces, counters) = (router.interfaces.ports(), router.interfaces.counters());
    let (crowded, heard) = (router.events.sender(), router.events.sender());
    let (tables, keys) = (tables.clone(), [[0; BLOCK]; 2]);
    let edges = router.own::<state::Bridging>().output_edges.reader();
    let engine = &mut router.engine;
    let of = |added: Result<graph::NodeIndex, graph::BuildError>| added.map(|_| ()).map_err(refuse);
    let fast = FastPath::new(&tables, edges, interfaces.clone(), counters.clone());
    of(engine.add(input::Input { tables: tables.clone(), fast: fast.clone() }))?;
    of(engine.add(input::BitmapDrop))?;
    let rewrite = output::InputRewrite { tables: tables.clone() };
    of(engine.add_feature(&L2_INPUT, rewrite))?;
    let learn = learn::Learn { tables: tables.clone(), crowded, keys };
    of(engine.add_feature(&L2_INPUT, learn))?;
    let forward = forward::Forward {
        tables: tables.clone(),
        interfaces: interfaces.clone(),
        counters: counters.clone(),
        keys,
    };
    of(engine.add_feature(&L2_INPUT, forward))?;
    let terminate = arp_term::Terminate { tables: tables.clone(), heard };
    of(engine.add_feature(&L2_INPUT, terminate))?;
    let unknown = flood::UnknownForward { tables: tables.clone() };
    of(engine.add_feature(&L2_INPUT, unknown))?;
    let flood = flood::Flood {
        tables: tables.clone(),
        interfaces: interfaces.clone(),
        counters,
        targets: Vec::new(),
    };
    of(engine.add_feature(&L2_INPUT, flood))?;
    engine.place(&L2_INPUT, "l2-output").map_err(refuse)?;
    protocols::add(engine).map_err(refuse)?;
    of(engine.add_feature(&L2_OUTPUT, output::Filter { interfaces }))?;
    let mut leads = None;
    add_with_outputs(router, |edges| {
        leads = Some(edges.clone());
        output::Output { tables, edges }
    })?;
    router.own_mut::<state::Bridging>().output_edges.publish(leads);
    lend_layer2(router, fast);
    Ok(())
}

fn add_patch(router: &mut Router) -> Result<(), Refused> {
    let peers = router.attach::<output::Patched>().map_err(refuse)?;
    router.engine.place(&DEVICE_INPUT, "l2-patch").map_err(refuse)?;
    add_with_outputs(router, |edges| output::Patch { peers, edges })?;
    router.attach_at::<output::Patched, _>([AttachedAt {
        arc: &DEVICE_INPUT,
        node: "l2-patch",
        is_on: |patched| patched.0.is_some(),
    }]);
    Ok(())
}

/// Makes ports follow their interfaces.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => domain::forget(router, interface),
        Change::Mac => bvi::follow_mac(router, interface),
        _ => {}
    }
}

/// Tag rewrite of an interface.
pub(crate) fn rewrite_of(router: &Router, interface: InterfaceIndex) -> rewrite::Rewrite {
    let i = router.interfaces.at(interface);
    // What it does was possible when it was set.
    i.and_then(|i| domain::made(i, &i.tag_rewrite).ok()).unwrap_or_default()
}
