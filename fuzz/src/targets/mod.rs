//! The targets of fuzzing.

mod commands;
mod configuration;
mod edits;
mod firewall;
mod graphs;
mod headers;
mod ikev2;
mod ipsec;
mod memif;
mod messages;
mod packets;
mod replay;
mod services;
mod tcp;
mod tunnels;
mod vhost_user;

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use control::log::Log;
use control::process::Processes;
use graph::Settings;
use net::{Assembly, Router};

pub use commands::Commands;
pub use configuration::Configuration;
pub use firewall::Firewall;
pub use graphs::Graphs;
pub use headers::Headers;
pub use ikev2::Ikev2;
pub use ipsec::Ipsec;
pub use memif::Memif;
pub use messages::{MessageBytes, Messages};
pub use replay::Replay;
pub use services::Services;
pub use tcp::Tcp;
pub use tunnels::Tunnels;
pub use vhost_user::VhostUser;

/// A router with all features, whose graph runs on request, on so many threads.
fn router(threads: usize) -> Assembly {
    let workers = vec![None; threads - 1]; // numbers start from 0
    let settings = Settings { buffers: 8192, workers, ..Settings::default() };
    let mut router = Router::new(settings, Log::new()).expect("memory for a small router");
    // Targets run at the same time, and some have two routers.
    static ROUTERS: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), ROUTERS.fetch_add(1, Ordering::Relaxed));
    let socket = std::env::temp_dir().join(format!("ferrovia-fuzz-{process}-{number}"));
    router.insert(net::punt::Settings { socket: Some(socket) });
    let mut parts = Assembly::new(router);
    for feature in plugins::features() {
        parts.add(feature).expect("features fit together");
    }
    parts.router.engine.build().expect("the graph is whole");
    parts.router.engine.start_inline_threads(threads);
    parts
}

/// Two interfaces with addresses, neighbours and routes.
const SETUP: &str = "create packet-generator interface pg0
create packet-generator interface pg1
set interface mac address pg0 02:00:00:00:00:aa
set interface state pg0 up
set interface state pg1 up
set interface ip address pg0 10.0.0.1/24
set interface ip address pg1 10.0.1.1/24
set interface ip address pg0 2001:db8::1/64
set interface ip address pg1 2001:db8:1::1/64
set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static
set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static
ip route add 16.0.0.0/8 via 10.0.1.2 pg1
ip route add 17.0.0.0/8 via 10.0.1.2 pg1 via 10.0.1.3 pg1
ip route add 18.0.0.0/8 via drop
ip route add 2001:db8:ff::/48 via 2001:db8:1::2 pg1
";

/// Runs `SETUP`.
fn set_up(parts: &mut Assembly) {
    let reply = parts.cli.run(&mut parts.router, SETUP);
    assert!(reply.result.is_ok(), "{}", reply.text());
}

/// Set when a node panics: the engine catches that.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Records panics of nodes from now on.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICKED.store(true, Ordering::Relaxed);
            before(info);
        }));
    });
}

/// Packets dropped, counted by interface, and those that the drop nodes have seen.
fn drops(router: &mut Router) -> Result<(u64, u64), String> {
    let interfaces: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
    let counted = interfaces.into_iter().map(|i| router.interfaces.values(i).drops).sum();
    let rows = router.engine.runtime_rows().map_err(|e| e.to_string())?;
    let nodes = rows.iter().flat_map(|row| &row.nodes);
    let seen = nodes.filter(|node| node.name == "drop").map(|node| node.stats.vectors).sum();
    Ok((counted, seen))
}

/// Everything that waits is given up after a while; then all buffers must be back.
fn let_time_pass(parts: &mut Assembly) -> Result<(), String> {
    for _ in 0..10 {
        let reply = parts.cli.run(&mut parts.router, "set clock adjust 100");
        reply.result.map_err(|e| e.to_string())?;
        settle(&mut parts.router);
    }
    let used = parts.router.engine.buffers_used().map_err(|e| e.to_string())?;
    if used > 0 { Err(format!("{used} buffers are never given back")) } else { Ok(()) }
}

/// Lets nodes and processes do what they have to do.
fn settle(router: &mut Router) {
    for _ in 0..4 {
        router.engine.run_inline(8);
        router.handle_events();
        let now = router.now();
        Processes::run_due(router, |r: &mut Router| &mut r.processes, now);
    }
}
