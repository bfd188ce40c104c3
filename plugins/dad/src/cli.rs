//! Commands about duplicate address detection.

use net::prelude::*;

use super::{Config, Detection, State};

/// Enable duplicate address detection for new IPv6 addresses.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set ip6 dad enable")]
#[undo("=set ip6 dad disable")]
#[stage(State)]
struct Enable {
    /// solicitations per address, 1 to 10; default 1
    transmits: Option<u8>,
    /// seconds between solicitations; default 1
    delay: Option<f64>,
}

/// Disable duplicate address detection.
#[derive(Clone, Debug, PartialEq, Command, Print)]
#[command("set ip6 dad disable")]
#[undo("=set ip6 dad enable")]
#[stage(State)]
struct Disable;

/// Show duplicate address detection: configuration and state of addresses.
#[derive(Clone, Debug, Command)]
#[command("show ip6 dad")]
struct Show;

#[derive(Serialize)]
struct Shown {
    enabled: bool,
    transmits: u8,
    delay: f64,
    addresses: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    address: Ipv6Addr,
    state: &'static str,
    sent: u8,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "IPv6 DAD:")?;
        writeln!(f, "  Enabled: {}", if self.enabled { "yes" } else { "no" })?;
        writeln!(f, "  Transmits: {}", self.transmits)?;
        writeln!(f, "  Delay: {:.1} seconds", self.delay)?;
        self.addresses.iter().try_for_each(|a| {
            writeln!(f, "  {:<24} {:<40} {:<10} sent {}", a.interface, a.address, a.state, a.sent)
        })
    }
}

fn show(router: &mut Router, _: Show) -> Result<Output, Error> {
    let dad = super::detection(router);
    let Config { is_on, transmits, delay } = dad.config;
    let addresses = dad.iter().map(|(interface, address, entry)| Row {
        interface: router.interfaces.name(interface.0).to_owned(),
        address,
        state: match entry.state {
            State::Tentative => "tentative",
            State::Preferred => "preferred",
            State::Duplicate => "duplicate",
        },
        sent: entry.sent,
    });
    Ok(Output::of(Shown { enabled: is_on, transmits, delay, addresses: addresses.collect() }))
}

/// Whether it is on, and how. Addresses that were there before are exempt: it comes behind them.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Detection { config, first, .. } = super::detection(router);
    let Config { is_on, transmits, delay } = *config;
    if !is_on && first.is_on {
        lines.push(&Disable);
    }
    if is_on && config != first {
        let transmits = Some(transmits).filter(|n| *n != first.transmits);
        lines.push(&Enable { transmits, delay: Some(delay).filter(|s| *s != first.delay) });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Enable| {
        let (transmits, delay) = (c.transmits.unwrap_or(1), c.delay.unwrap_or(1.0));
        Ok(super::configure(router, Config { is_on: true, transmits, delay })?)
    });
    cli.command(|router: &mut Router, _: Disable| {
        let now = super::detection(router).config;
        Ok(super::configure(router, Config { is_on: false, ..now })?)
    });
    cli.command(show);
}
