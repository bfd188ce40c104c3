//! The command that has interfaces configure themselves.
#![forbid(unsafe_code)]

use control::cli::{Cli, Command, Error, Word};

use crate::router::Router;

/// Make addresses of what other routers advertise on an interface, or no longer.
#[derive(Clone, Debug, Command)]
#[command("ip6 nd address autoconfig")]
struct Autoconfig {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
    /// default routes too
    default_route: bool,
    /// no longer, and without what was made so far
    disable: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Autoconfig| {
        let found = router.interfaces.named(&c.interface).map(|i| i.index);
        let interface = found.ok_or_else(|| c.interface.unknown("interface"))?;
        let wants_routes = (!c.disable).then_some(c.default_route);
        router.set_autoconfig(interface, wants_routes).map_err(|e| Error::new(e.to_string()))
    });
}
