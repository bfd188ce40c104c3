//! Punting: packets that are not forwarded, but given to a neighbor (redirect), a program (socket),
//! or control.
//!
//! UDP ports, TCP and other protocols are punted when asked to, instead of being answered with an
//! ICMP error; what is punted goes through the features of the arcs `ip4-punt` and `ip6-punt`, of
//! which the redirect is one. Features punt for reasons of their own by way of `punt-dispatch`.

mod api;
mod cli;
mod counted;
mod ports;
mod punt_test;
mod reasons;
mod redirect;
mod show;
mod socket;
#[cfg(test)]
mod tests;
mod udp;

use control::feature::Refused;

use crate::interface::{Change, InterfaceIndex};
use crate::ip::{V4, V6};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use api::{PuntException, PuntIpProto, PuntL4, PuntUnion};
pub use ports::{Port, PortError};
pub use reasons::{Dispatch, Reason, ReasonInfo, Receivers, TooMany};
pub use redirect::{Redirect, RedirectError, RedirectTo, Redirecting};
pub use socket::{
    Client, Descriptor, Error as SocketError, HEADER_VERSION, Punted, Settings, SocketRx, ToSocket,
};
pub use udp::UdpPunt;

/// Punting.
pub const FEATURE: Feature = Feature {
    name: "punt",
    about: "Punted packets",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        redirect::forget::<V4>(router, interface);
        redirect::forget::<V6>(router, interface);
    }
    punt_test::follow(router, interface, change);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let socket = parts.startup("punt", "socket")?;
    let router = &mut *parts.router;
    if socket.is_some() {
        router.insert(Settings { socket });
    }
    redirect::add::<V4>(router).map_err(refuse)?;
    redirect::add::<V6>(router).map_err(refuse)?;
    router.engine.add(UdpPunt(V4)).map_err(refuse)?;
    router.engine.add(UdpPunt(V6)).map_err(refuse)?;
    router.insert(ports::Ports::default());
    reasons::add(router).map_err(refuse)?;
    punt_test::add(router).map_err(refuse)?;
    socket::register(router)?;
    router.interfaces.observe(interface_changed);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    punt_test::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
