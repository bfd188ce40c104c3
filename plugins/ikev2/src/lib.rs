//! Key exchange for IPsec: IKEv2 (RFC 7296).
//!
//! [`codec`] reads and writes messages, [`crypto`] makes keys and proofs, [`machine`] is the
//! protocol without input and output. The rest is the router's side: nodes that take messages,
//! children that become associations and tunnels of IPsec, timers, commands and messages.
//! Public-key work that takes long is done on a thread of its own.
#![forbid(unsafe_code)]

mod acts;
mod api;
mod cli;
pub mod codec;
mod configure;
pub mod crypto;
mod initiate;
mod install;
pub mod machine;
mod node;
mod show;
mod work;

use std::collections::HashMap;

use control::feature::{Refusal, Refused};
use control::process::Wake;
use net::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use api::*;
pub use node::{Count as NodeCount, Error as NodeError, NODES};

use install::Group;
use machine::Machine;
use node::Input;
use work::Worker;

/// The process of timers.
const PROCESS: &str = "ikev2-manager-process";
/// Seconds between two looks at timers, at most and at least.
const LOOK: f64 = 0.5;
const PAUSE: f64 = 0.05;

/// State of control.
struct Ikev2 {
    machine: Machine,
    /// Installed children, by number: the tunnel of each.
    children: HashMap<u32, u64>,
    /// Tunnels, by own number.
    groups: HashMap<u64, Group>,
    next_group: u64,
    next_sa: u32,
    worker: Worker,
    /// Seconds that the process sleeps, as clients set it.
    sleep: f64,
    /// The file with the own private key.
    key_file: Option<String>,
    /// Messages come to the nodes.
    is_listening: bool,
    /// Profiles whose peers' names are being looked up, and since when.
    resolving: Vec<(String, f64)>,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no profile `{0}'
    #[retval(NO_SUCH_ENTRY)]
    NoProfile(String),
    /// profile `{0}' exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    Exists(String),
    /// a profile needs a name
    #[retval(INVALID_VALUE)]
    NoName,
    /// the name is longer than {0} bytes
    #[retval(INVALID_VALUE)]
    LongName(usize),
    /// {0}: {1}
    #[retval(INVALID_VALUE)]
    File(String, String),
    /// authentication is by `shared-key-mic' or `rsa-sig'
    #[retval(INVALID_VALUE)]
    Method,
    /// an identity has at most {0} bytes, and at least one
    #[retval(INVALID_VALUE)]
    Id(usize),
    /// first and last address are of different families
    #[retval(INVALID_ADDRESS_FAMILY)]
    Families,
    /// no association with this SPI
    #[retval(NO_SUCH_ENTRY)]
    NoSa,
    /// the interface is no tunnel
    #[retval(INVALID_SW_IF_INDEX)]
    NoTunnel,
    /// profile `{0}' has no responder
    #[retval(INVALID_VALUE)]
    NoResponder(String),
    /// no address of `{0}' is known
    #[retval(INVALID_VALUE)]
    Unresolved(String),
    /// there is no way to {0}
    #[retval(INVALID_DST_ADDRESS)]
    Unreachable(std::net::IpAddr),
    /// {0}
    #[retval(INVALID_VALUE)]
    Machine(String),
    /// the time must be at least 0.001 seconds and at most a day
    #[retval(INVALID_VALUE)]
    Sleep,
    /// UDP ports of IKE are in use: {0}
    #[retval(UDP_PORT_TAKEN)]
    Ports(String),
}

/// Key exchange for IPsec.
pub const FEATURE: Feature = Feature {
    name: "ikev2",
    about: "Internet Key Exchange (IKEv2) Protocol",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "punt", "crypto", "ipsec", "ipip", "ping", "dns"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let arrived = [router.events.sender(), router.events.sender(), router.events.sender()];
    let [ip4, natt, ip6] = arrived;
    router.engine.add(Input::<0>(ip4)).map_err(refuse)?;
    router.engine.add(Input::<1>(natt)).map_err(refuse)?;
    router.engine.add(Input::<2>(ip6)).map_err(refuse)?;
    let worker = Worker::new(router.events.sender());
    router.insert(Ikev2 {
        machine: Machine::new(::crypto::fill_random),
        children: HashMap::new(),
        groups: HashMap::new(),
        next_group: 0,
        next_sa: 0x8000_0000,
        worker,
        sleep: 2.0,
        key_file: None,
        is_listening: false,
        resolving: Vec::new(),
    });
    router.events.handle(acts::arrived);
    router.events.handle(acts::worked);
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| look(router)));
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

fn look(router: &mut Router) -> Wake {
    let now = router.now();
    initiate::resolve(router, now);
    let all = router.own_mut::<Ikev2>();
    if all.machine.is_idle() && all.resolving.is_empty() {
        return Wake::OnEvent;
    }
    all.machine.tick(now);
    let pause = all.sleep.clamp(PAUSE, LOOK);
    acts::carry_out(router);
    Wake::AfterOrEvent(std::time::Duration::from_secs_f64(pause))
}
