//! Key exchange for IPsec: IKEv2 (RFC 7296).
//!
//! [`codec`] reads and writes messages, [`crypto`] derives keys and authenticates, [`machine`] is
//! the protocol without I/O. The rest connects it to the router: nodes that receive messages,
//! IPsec SAs and tunnels for child SAs, timers, commands and API messages. Slow public-key
//! computations run on a thread of their own.
#![forbid(unsafe_code)]

mod acts;
mod api;
mod cli;
pub mod codec;
mod configure;
pub mod crypto;
mod health;
mod initiate;
mod install;
pub mod machine;
mod node;
mod show;
mod work;

use net::prelude::*;

pub use api::*;
pub use node::{Count as NodeCount, Error as NodeError, NODES};

use install::Group;
use machine::Machine;
use node::Input;
use work::Worker;

/// Name of the timer process.
const PROCESS: &str = "ikev2-manager-process";
/// Longest interval between two checks of the timers in seconds.
const LOOK: f64 = 0.5;
const PAUSE: f64 = 0.05;

/// State of the control thread.
struct Ikev2 {
    machine: Machine,
    /// Tunnel of each installed child SA, by number.
    children: HashMap<u32, u64>,
    /// Tunnels by number.
    groups: HashMap<u64, Group>,
    next_group: u64,
    /// Tunnels that carry nothing without keys.
    held: BTreeSet<InterfaceIndex>,
    /// Those among them that no profile names: they were there when a profile needed one.
    found: BTreeSet<(String, InterfaceIndex)>,
    next_sa: u32,
    worker: Worker,
    /// Configured interval of the timer process in seconds.
    sleep: f64,
    /// File of the local private key.
    key_file: Option<String>,
    /// Whether the nodes are registered for the UDP ports of IKE.
    is_listening: bool,
    /// Profiles whose peer's name is being resolved, and since when.
    resolving: Vec<(String, f64)>,
}

/// Reasons for refusing a request.
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
    /// `{0}': a name is one word
    #[retval(INVALID_VALUE)]
    NoWord(String),
    /// {0}: {1}
    #[retval(INVALID_VALUE)]
    File(String, String),
    /// the authentication method must be `shared-key-mic' or `rsa-sig'
    #[retval(INVALID_VALUE)]
    Method,
    /// an identity has between one and {0} bytes
    #[retval(INVALID_VALUE)]
    Id(usize),
    /// first and last address are of different families
    #[retval(INVALID_ADDRESS_FAMILY)]
    Families,
    /// no association with this SPI
    #[retval(NO_SUCH_ENTRY)]
    NoSa,
    /// the interface is not a tunnel
    #[retval(INVALID_SW_IF_INDEX)]
    NoTunnel,
    /// profile `{0}' has no responder
    #[retval(INVALID_VALUE)]
    NoResponder(String),
    /// cannot resolve `{0}'
    #[retval(INVALID_VALUE)]
    Unresolved(String),
    /// no route to {0}
    #[retval(INVALID_DST_ADDRESS)]
    Unreachable(std::net::IpAddr),
    /// {0}
    #[retval(INVALID_VALUE)]
    Machine(String),
    /// the time must be at least 0.001 seconds and at most a day
    #[retval(INVALID_VALUE)]
    Sleep,
    /// the UDP ports of IKE are in use: {0}
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
        held: BTreeSet::new(),
        found: BTreeSet::new(),
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
    router.interfaces.observe(install::changed);
    health::register(router);
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
    let spent = install::spent(router);
    let all = router.own_mut::<Ikev2>();
    all.machine.replace_spent(now, &spent);
    all.machine.tick(now);
    let pause = all.sleep.clamp(PAUSE, LOOK);
    initiate::again(router, now);
    acts::carry_out(router);
    Wake::AfterOrEvent(std::time::Duration::from_secs_f64(pause))
}
