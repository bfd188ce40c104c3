//! Checking of requests.

use std::sync::mpsc::SyncSender;

use http_core::{Answer, Method, Request, Response, Site, Ticket};
use net::events::EventSender;

use super::work::{Ask, Asked};

/// Longest command in bytes.
const LONGEST: usize = 512;

/// The site on one thread.
pub(super) struct CommandSite {
    asks: SyncSender<Ask>,
    told: EventSender<Asked>,
}

/// Creates the site of each thread.
pub(super) fn maker(asks: SyncSender<Ask>, told: EventSender<Asked>) -> impl Fn() -> CommandSite {
    move || CommandSite { asks: asks.clone(), told: told.clone() }
}

impl Site for CommandSite {
    fn answer(&mut self, request: &Request<'_>, _: f64) -> Answer {
        let command = match checked(request) {
            Ok(command) => command,
            Err((status, why)) => return Answer::Now(Response::plain(status, why)),
        };
        let ticket = Ticket::default();
        let ask = Ask { command, ticket: ticket.clone() };
        if self.asks.try_send(ask).is_err() {
            return Answer::Now(Response::plain(503, "too many commands are queued"));
        }
        // If the queue is full, the control thread has been notified already.
        self.told.send(Asked);
        Answer::Later(ticket)
    }
}

/// The command of an acceptable request.
fn checked(request: &Request<'_>) -> Result<String, (u16, &'static str)> {
    if !matches!(request.method, Method::Get | Method::Head) {
        return Err((405, "use GET"));
    }
    // Browsers mark requests of pages, and send the host name that the page used.
    let is_page = request.has_header("origin")
        || request.header("sec-fetch-site").is_some_and(|site| site != "none");
    if is_page {
        return Err((403, "requests of web pages are refused"));
    }
    if !request.header("host").is_none_or(is_address) {
        return Err((403, "use the router's address instead of a name"));
    }
    if !request.query.is_empty() {
        return Err((400, "the query must be empty"));
    }
    command_of(request.path).map_err(|why| (403, why))
}

/// Whether a value of `Host` is an address, optionally with a port.
fn is_address(host: &str) -> bool {
    let is_ip6 = |text: &str| {
        let inner = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        inner.is_some_and(|(addr, port)| {
            addr.parse::<std::net::Ipv6Addr>().is_ok() && (port.is_empty() || is_port(port))
        })
    };
    let is_ip4 = |text: &str| {
        let (addr, port) = text.split_at(text.find(':').unwrap_or(text.len()));
        addr.parse::<std::net::Ipv4Addr>().is_ok() && (port.is_empty() || is_port(port))
    };
    is_ip4(host) || is_ip6(host)
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

/// The command of a path, whose words are separated by `/`.
///
/// # Errors
/// The reason why it is not run, as text.
pub fn command_of(path: &str) -> Result<String, &'static str> {
    if path.len() > LONGEST {
        return Err("the command is too long");
    }
    let mut words = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        words.push(http_core::decoded(part, is_plain).ok_or("the command has invalid characters")?);
    }
    let first = words.first().map(String::as_str).unwrap_or_default();
    // `sh`, `sho`, `show`: as on the command line.
    if first.len() < 2 || !"show".starts_with(first) {
        return Err("only show commands are run");
    }
    words[0] = "show".to_owned();
    Ok(words.join(" "))
}

/// Whether a character is not special on the command line.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:/+@[]>,".contains(&byte)
}
