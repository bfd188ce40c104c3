//! Removal of duplicate IPv6 addresses: a plugin that is off unless the startup configuration names
//! it. Once loaded it enables duplicate address detection and removes the duplicates, until the
//! operator disables it.

use net::prelude::*;

use super::{Config, Detection, Entry, State, configure, detection, observe};

/// Removal of duplicate addresses.
pub const FEATURE: Feature = Feature {
    name: "ip6_dad_autoremove",
    about: "Removal of duplicate IPv6 addresses",
    origin: Origin::Plugin,
    default_enabled: false,
    requires: &["ip6-dad"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Whether duplicates are removed, and how many were.
struct Autoremove {
    is_on: bool,
    removed: u64,
}

/// Remove duplicate IPv6 addresses; enables duplicate address detection.
#[derive(Clone, Debug, Command)]
#[command("set ip6 dad autoremove enable")]
struct Enable;

/// Keep duplicate IPv6 addresses.
#[derive(Clone, Debug, PartialEq, Command, Print)]
#[command("set ip6 dad autoremove disable")]
#[stage(State)]
struct Disable;

/// Show whether duplicate IPv6 addresses are removed, and how many were.
#[derive(Clone, Debug, Command)]
#[command("show ip6 dad autoremove")]
struct Show;

#[derive(Serialize)]
struct Shown {
    enabled: bool,
    removed: u64,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Removal of duplicate IPv6 addresses:")?;
        writeln!(f, "  Enabled: {}", if self.enabled { "yes" } else { "no" })?;
        writeln!(f, "  Removed: {}", self.removed)
    }
}

fn switch(router: &mut Router, is_on: bool) {
    router.own_mut::<Autoremove>().is_on = is_on;
    let dad = detection(router).config;
    if is_on && !dad.is_on {
        let done = configure(router, Config { is_on: true, ..dad });
        done.expect("its values are those that were good before");
    }
}

/// Removes a duplicate.
fn follow(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr, entry: &Entry) {
    if entry.state != State::Duplicate || !router.own_mut::<Autoremove>().is_on {
        return;
    }
    let ip6 = &router.addresses.of(interface).ip6;
    let Some(prefix) = ip6.iter().find(|p| p.addr() == addr).copied() else { return };
    let name = router.interfaces.name(interface.0).to_owned();
    let log = router.log.class("ip6", "dad");
    match router.remove_address(interface, Prefix::Ip6(prefix)) {
        Ok(()) => {
            router.own_mut::<Autoremove>().removed += 1;
            log.notice(format_args!("{prefix} on {name} was removed: it is a duplicate"));
        }
        Err(why) => log.error(format_args!("{prefix} on {name} cannot be removed: {why}")),
    }
}

/// Enabled unless the operator disabled it.
fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if !router.own::<Autoremove>().is_on {
        lines.push(&Disable);
    }
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: Enable| {
        switch(router, true);
        Ok(())
    });
    cli.command(|router: &mut Router, _: Disable| {
        switch(router, false);
        Ok(())
    });
    cli.command(|router: &mut Router, _: Show| {
        let Autoremove { is_on: enabled, removed } = *router.own_mut::<Autoremove>();
        Ok(Output::of(Shown { enabled, removed }))
    });
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Autoremove { is_on: true, removed: 0 });
    observe(parts.router, follow);
    switch(parts.router, true);
    let detection = parts.router.own_mut::<Detection>();
    detection.first = detection.config;
    commands(&mut parts.cli);
    Ok(())
}
