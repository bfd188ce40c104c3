//! PPPoE access concentrator (RFC 2516): what clients send in their sessions is routed, and what is
//! routed to them goes into their sessions.
//!
//! Who makes sessions is another program, the control plane, behind an interface of its own:
//! discovery, and what of a session is no IP packet, go there and come back from there. The router
//! learns on the way which interface a client is on. A session is an interface with a route to the
//! client's address.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod control;
mod input;
mod output;
mod sessions;

use ::control::feature::{Refusal, Refused};
use net::interface::Error as InterfaceError;
use net::ip::add_with_outputs;
use net::prelude::*;

pub use api::*;
pub use control::{CpDispatch, Learned};
pub use input::Input;
pub use sessions::{New, Session, Sessions, add, learn, remove, set_control};

/// Reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// not supported by this interface
    #[retval(INVALID_INTERFACE)]
    Unfit,
    /// a session ID is 1 to 65534
    #[retval(INVALID_VALUE)]
    Number,
    /// not a unicast client address
    #[retval(INVALID_DST_ADDRESS)]
    Address,
    /// no packet from the client has been received yet
    #[retval(NO_SUCH_ENTRY)]
    NoClient,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the session exists
    #[retval(TUNNEL_EXISTS)]
    Exists,
    /// no such session
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// another control-plane interface is set
    #[retval(IN_USE)]
    HasControl,
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Interface(InterfaceError),
    /// no room for a route to the client
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// PPPoE.
pub const FEATURE: Feature = Feature {
    name: "pppoe",
    about: "PPP over Ethernet (PPPoE)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet", "ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let sessions = Sessions::new().map_err(refuse)?;
    let reader = sessions.reader();
    let events = router.events.sender();
    let ports = router.interfaces.ports();
    add_with_outputs(router, |edges| {
        CpDispatch(control::Control::new(&reader, edges, ports, events))
    })?;
    let events = router.events.sender();
    let interfaces = (router.interfaces.ports(), router.interfaces.counters());
    add_with_outputs(router, |edges| {
        let ports = interfaces.0.clone();
        Input::new(control::Control::new(&reader, edges, ports, events), interfaces)
    })?;
    router.register_ethertype(EtherType::PPPOE_DISCOVERY, control::NAME).map_err(refuse)?;
    router.register_ethertype(EtherType::PPPOE_SESSION, input::NAME).map_err(refuse)?;
    router.insert(sessions);
    router.events.handle(sessions::learn);
    router.interfaces.observe(sessions::follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
