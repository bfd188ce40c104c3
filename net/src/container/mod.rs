//! Proxies for containers: packets to a container's prefix are this router's own, so that what
//! terminates here answers in its place.
#![forbid(unsafe_code)]

mod api;
mod cli;

use std::collections::BTreeMap;
use std::fmt;

use control::feature::Refused;
use wire::Prefix;

use crate::fib::{self, Path, Source, TableIndex, Target};
use crate::interface::{Change, InterfaceIndex};
use crate::router::{Feature, Origin, Parts, Router};

/// Prefixes of containers, their commands and messages.
pub const FEATURE: Feature = Feature {
    name: "container",
    about: "Proxies for prefixes of containers",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["arp", "nd"],
    register,
};

/// The prefixes that packets are taken for, and the table each has its route in.
#[derive(Default)]
struct Proxied(BTreeMap<(InterfaceIndex, Prefix), TableIndex>);

/// Why a prefix is not taken for a container, or cannot be given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The interface is not there.
    NoInterface,
    /// Nobody asked for it.
    Unknown(Prefix),
    /// Its route is refused.
    Route(fib::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("no such interface"),
            Self::Unknown(prefix) => write!(f, "no container has {prefix}"),
            Self::Route(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

impl Router {
    /// Takes packets to a prefix, in the table of the interface that the container is behind, for
    /// this router's own, or no longer.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_container_proxy(
        &mut self,
        interface: InterfaceIndex,
        prefix: Prefix,
        is_on: bool,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let key = (interface, prefix.network());
        if !is_on {
            let gone = self.proxied_mut().0.remove(&key);
            let table = gone.ok_or(Error::Unknown(prefix))?;
            // It was put there when the prefix came.
            let _ = self.remove_route(table, key.1, Source::PROXY, &[]);
            return Ok(());
        }
        let on = self.addresses.of(interface);
        let table = if prefix.addr().is_ipv4() { on.table4 } else { on.table6 };
        let target = Target::Receive { interface: Some(interface), addr: Some(prefix.addr()) };
        self.set_route(table, key.1, Source::PROXY, &[Path::to(target)]).map_err(Error::Route)?;
        self.proxied_mut().0.insert(key, table);
        Ok(())
    }
    /// The prefixes of containers, by interface.
    pub fn container_proxies(&self) -> impl Iterator<Item = (InterfaceIndex, Prefix)> {
        let all = self.own::<Proxied>();
        all.0.keys().copied()
    }
    fn proxied_mut(&mut self) -> &mut Proxied {
        self.own_mut()
    }
}

/// Follows changes of interfaces.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if !matches!(change, Change::Deleting) {
        return;
    }
    let gone = router.container_proxies().filter(|(on, _)| *on == interface);
    for (on, prefix) in gone.collect::<Vec<_>>() {
        // It was there just now.
        let _ = router.set_container_proxy(on, prefix, false);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Proxied::default());
    parts.router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::neighbor::testing::{Bench, packet};

    #[test]
    fn packets_to_a_container_are_ours_as_long_as_it_is_proxied() {
        let mut b = Bench::new();
        let pg0 = b.pg0;
        assert_eq!(b.cli("ip container 10.7.0.9 pg1"), "");
        assert_eq!(b.cli("show ip container 10.7.0.9 pg1"), "10.7.0.9/32 pg1: enabled\n");
        assert_eq!(b.cli("show ip container 10.7.0.9 pg0"), "10.7.0.9/32 pg0: disabled\n");
        b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static");
        let out = b.receive(pg0, &[packet("10.7.0.9")]);
        assert_eq!(out[0].bytes[34..36], [3, 3], "nobody listens on the port");
        b.expect(&[
            ("ip4-udp-lookup", "no_listener", 1),
            ("ip4-icmp-error", "dest_unreach_sent", 1),
        ]);
        assert_eq!(b.cli("ip container 10.7.0.9 pg1 del"), "");
        let again = b.cli("ip container 10.7.0.9 pg1 del");
        assert_eq!(again, "ip container: no container has 10.7.0.9/32\n");
        b.receive(pg0, &[packet("10.7.0.9")]);
        assert!(!b.cli("show ip fib 10.7.0.9").contains("10.7.0.9/32 "));
        assert_eq!(
            b.cli("ip container 10.7.0.9 nosuch"),
            "ip container: unknown interface `nosuch'\n"
        );
    }

    #[test]
    fn a_deleted_interface_takes_its_containers_along() {
        let mut b = Bench::new();
        b.cli("ip container 2001:db8:7::9 pg1");
        b.control(|router, _| {
            assert_eq!(router.container_proxies().count(), 1);
            let pg1 = router.interfaces.named("pg1").unwrap().index;
            router.remove_interface(pg1);
            assert_eq!(router.container_proxies().count(), 0);
        });
        assert!(!b.cli("show ip6 fib").contains("2001:db8:7::9"));
    }
}
