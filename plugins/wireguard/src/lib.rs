//! WireGuard: tunnels whose far ends are known by their public keys.
//!
//! An interface has a private key and a port, and peers. What a route sends into the interface goes
//! to the peer that is allowed the address of the route's next hop, or the packet's destination;
//! what comes from a peer must have a source that it is allowed. Nodes encrypt and decrypt; a
//! peer's packets are those of one thread. Handshakes, cookies and timers are control's: nodes hand
//! it the messages of handshakes and tell it what they miss.
//!
//! All times are the router's clock; moving it by more than a session's life, either way, ends the
//! session.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod cookie;
mod events;
mod handoff;
mod handshake;
mod input;
mod interface;
mod keypair;
mod noise;
mod output;
mod peer;
mod tables;
mod timers;

use net::fib;
use net::interface::Error as InterfaceError;
use net::prelude::*;

pub use api::*;
pub use input::Error as InputDrops;
pub use interface::{Interface, New, add, remove};
pub use keypair::testing as window;
pub use output::Error as OutputDrops;
pub use peer::{MAX_PEERS, NewPeer, add as add_peer, remove as remove_peer};

use handoff::ByPeer;
use input::Input;
use output::Output;
use peer::Peer;
use tables::Tables;

/// Address and port.
pub type Endpoint = (IpAddr, u16);

/// State of control.
struct Wireguard {
    interfaces: BTreeMap<InterfaceIndex, Interface>,
    /// By number.
    peers: BTreeMap<u32, Peer>,
    tables: Tables,
    /// Peers by own numbers of handshakes that wait for their response.
    begun: HashMap<u32, u32>,
    subscriptions: Vec<api::Subscription>,
    /// Setting of clients; packets are encrypted where they are in either case.
    is_async: bool,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// {0} cannot be the local address of a tunnel
    #[retval(INVALID_SRC_ADDRESS)]
    Source(IpAddr),
    /// port 0
    #[retval(INVALID_VALUE)]
    Port,
    /// instance {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// not a WireGuard interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// {0} cannot be the endpoint of a peer
    #[retval(INVALID_DST_ADDRESS)]
    Endpoint(IpAddr),
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the system provides no random numbers
    #[retval(SYSCALL_ERROR_1)]
    NoRandom,
    /// a peer with this public key exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    Exists,
    /// the public key is invalid, or the interface's own
    #[retval(INVALID_VALUE)]
    Key,
    /// a peer needs an allowed address
    #[retval(INVALID_VALUE)]
    NothingAllowed,
    /// no peer {0}
    #[retval(NO_SUCH_ENTRY)]
    NoPeer(u32),
    /// at most {0} peers
    #[retval(LIMIT_EXCEEDED)]
    Full(usize),
    /// {0}
    #[retval(UDP_PORT_TAKEN)]
    Taken(net::ip::Error),
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Interface(InterfaceError),
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
}

/// Seconds between two times, whichever is later: the clock may have moved back.
#[inline(always)]
fn apart(a: f64, b: f64) -> f64 {
    (a - b).abs()
}

/// A time as nodes note it; 0 is none.
#[inline(always)]
fn milliseconds(seconds: f64) -> u64 {
    ((seconds * 1e3) as u64).max(1)
}

/// WireGuard.
pub const FEATURE: Feature = Feature {
    name: "wireguard",
    about: "Wireguard Protocol",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "tunnel", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let tables = Tables::new()?;
    let readers = tables.readers(router);
    let notices = router.events.sender();
    let arrived = router.events.sender();
    macro_rules! add {
        ($node:expr) => {
            router.engine.add($node).map_err(refuse)?
        };
    }
    add!(Output::<false, false>::new(readers.clone(), notices.clone()));
    add!(Output::<false, true>::new(readers.clone(), notices.clone()));
    add!(Output::<true, false>::new(readers.clone(), notices.clone()));
    add!(Output::<true, true>::new(readers.clone(), notices.clone()));
    add!(Input::<false, false>::new(readers.clone(), notices.clone(), arrived.clone()));
    add!(Input::<false, true>::new(readers.clone(), notices.clone(), arrived.clone()));
    add!(Input::<true, false>::new(readers.clone(), notices.clone(), arrived.clone()));
    add!(Input::<true, true>::new(readers, notices, arrived));
    add!(graph::HandOff(ByPeer::<false, false>));
    add!(graph::HandOff(ByPeer::<true, false>));
    add!(graph::HandOff(ByPeer::<false, true>));
    add!(graph::HandOff(ByPeer::<true, true>));
    router.insert(Wireguard {
        interfaces: BTreeMap::new(),
        peers: BTreeMap::new(),
        tables,
        begun: HashMap::new(),
        subscriptions: Vec::new(),
        is_async: false,
    });
    router.events.handle(handshake::arrived);
    router.events.handle(handshake::noticed);
    router.interfaces.observe(interface::follow);
    timers::spawn(router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
