//! Messages to a syslog collector (RFC 5424) in datagrams (RFC 5426). Features send events through
//! [`send`]; those less severe than the filter says, or without a collector, are not sent.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod message;

use control::feature::Registered;
use net::ip::{datagram, send_own};
use net::prelude::*;

pub use api::*;
pub use message::{Facility, Message, Structured};

/// The port of collectors.
pub const PORT: u16 = 514;
/// Bytes of a message that every collector takes (RFC 5426 section 3.2).
pub const LONGEST: u32 = 480;

/// The sender of messages.
pub const FEATURE: Feature = Feature {
    name: "syslog",
    about: "Messages to a syslog collector",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Severity of an event.
#[derive(Words, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[number(SyslogSeverity)]
pub enum Severity {
    /// The system is unusable.
    Emerg,
    /// Something must be done at once.
    Alert,
    /// Critical.
    Crit,
    /// An error.
    Err,
    /// A warning.
    Warn,
    /// Normal but significant.
    Notice,
    /// Informational.
    #[default]
    Info,
    /// For developers.
    Dbg,
}

/// Destination of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The collector's address.
    pub collector: Ipv4Addr,
    /// Port.
    pub port: u16,
    /// The source address.
    pub src: Ipv4Addr,
    /// The routing table, if it is not the default one: its number.
    pub vrf: Option<u32>,
    /// Maximum message length in bytes.
    pub longest: u32,
}

/// The state.
#[derive(Default)]
struct Syslog {
    /// With the index of its table.
    sender: Option<(Sender, TableIndex)>,
    filter: Severity,
    /// Called when what is sent may be other events.
    listeners: Registered<fn(&mut Router)>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the collector has no address
    #[retval(INVALID_DST_ADDRESS)]
    NoCollector,
    /// a sender needs a source address
    #[retval(INVALID_SRC_ADDRESS)]
    NoSource,
    /// {0} bytes is below the {LONGEST} that every collector accepts
    #[retval(INVALID_VALUE)]
    TooShort(u32),
}

/// Stops sending messages.
pub fn remove_sender(router: &mut Router) {
    if let Some((_, table)) = router.own_mut::<Syslog>().sender.take() {
        router.use_table_of(net::adjacency::Link::Ip4, table, false);
    }
}

/// Sets where messages go.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_sender(router: &mut Router, sender: Sender) -> Result<(), Error> {
    if sender.longest < LONGEST {
        return Err(Error::TooShort(sender.longest));
    }
    if sender.collector.is_unspecified() {
        return Err(Error::NoCollector);
    }
    if sender.src.is_unspecified() {
        return Err(Error::NoSource);
    }
    let id = sender.vrf.unwrap_or(0);
    let table = router.fib.table::<Ip4>(id).ok_or(Error::NoTable(id))?;
    let link = net::adjacency::Link::Ip4;
    router.use_table_of(link, table, true);
    let old = router.own_mut::<Syslog>().sender.replace((sender, table));
    if let Some((_, table)) = old {
        router.use_table_of(link, table, false);
    }
    changed(router);
    Ok(())
}

/// Calls `listener` whenever the events sent ([`is_sent`]) may have changed.
pub fn on_change(router: &mut Router, listener: fn(&mut Router)) {
    router.own_mut::<Syslog>().listeners.push(listener);
}

fn changed(router: &mut Router) {
    let all: Vec<_> = router.own::<Syslog>().listeners.iter().copied().collect();
    all.into_iter().for_each(|listener| listener(router));
}

/// Destination of messages.
pub fn sender(router: &Router) -> Option<Sender> {
    router.own::<Syslog>().sender.map(|(sender, _)| sender)
}

/// Sets the least severity of events that are sent.
pub fn set_filter(router: &mut Router, severity: Severity) {
    router.own_mut::<Syslog>().filter = severity;
    changed(router);
}

/// The least severity of events that are sent.
pub fn filter(router: &Router) -> Severity {
    router.own::<Syslog>().filter
}

/// Whether events of a severity are sent.
pub fn is_sent(router: &Router, severity: Severity) -> bool {
    let syslog = router.own::<Syslog>();
    syslog.sender.is_some() && severity <= syslog.filter
}

/// Sends an event to the collector, if there is one and it is severe enough.
pub fn send(router: &mut Router, message: &Message<'_>) {
    if !is_sent(router, message.severity) {
        return;
    }
    let Some((sender, table)) = router.own::<Syslog>().sender else { return };
    let mut text = message.text(sender.src, control::wall::now(), std::process::id());
    // Cut at a boundary of characters.
    let mut end = text.len().min(sender.longest as usize);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    let [from, to] = [sender.src, sender.collector].map(|addr| (addr, sender.port));
    if let Some(packet) = datagram(from, to, text.as_bytes(), true) {
        send_own(router, table, packet);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Syslog::default());
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
