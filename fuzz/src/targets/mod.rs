//! The targets of fuzzing.

mod commands;
mod configuration;
mod graphs;
mod headers;
mod memif;
mod messages;
mod packets;
mod replay;
mod vhost_user;

use control::log::Log;
use graph::Settings;
use net::{Assembly, Router};

pub use commands::Commands;
pub use configuration::Configuration;
pub use graphs::Graphs;
pub use headers::Headers;
pub use memif::Memif;
pub use messages::{MessageBytes, Messages};
pub use replay::Replay;
pub use vhost_user::VhostUser;

/// A router with all features, whose graph runs when it is told to, on so many threads.
fn router(threads: usize) -> Assembly {
    let workers = vec![None; threads - 1]; // numbers start from 0
    let settings = Settings { buffers: 8192, workers, ..Settings::default() };
    let mut router = Router::new(settings, Log::new()).expect("memory for a small router");
    let socket = std::env::temp_dir().join(format!("ferrovia-fuzz-{}", std::process::id()));
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

/// Carries out `SETUP`.
fn set_up(parts: &mut Assembly) {
    let reply = parts.cli.run(&mut parts.router, SETUP);
    assert!(reply.result.is_ok(), "{}", reply.text());
}
