//! `firewall explain`: the firewall's verdict on a hypothetical packet.

use std::sync::{Mutex, PoisonError};

use net::prelude::*;
use sessions::Flow;

use super::list::Verdict;
use super::object::{Name, Service};
use super::policy::Action;
use super::ruleset::Between;
use super::session::Guarded;
use super::show::Words;
use super::state;
use super::zone::{Pair, Zone};

/// `firewall explain FROM TO SRC DST SERVICE`.
struct Explain {
    from: Name,
    to: Name,
    src: IpAddr,
    dst: IpAddr,
    service: Service,
}

impl Command for Explain {
    const PATHS: &'static [&'static str] = &["firewall explain"];
    const ABOUT: &'static str = "Show how a packet between two zones would be handled, and why";
    const USAGE: &'static str = "<from-zone> <to-zone> <source> <destination> \
        {<tcp/port:source-port>|<udp/port>|<icmp/type:code>|<protocol/number>}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (from, to) = (args.value("name of a zone")?, args.value("name of a zone")?);
        let (src, dst): (IpAddr, IpAddr) = (args.value("source")?, args.value("destination")?);
        if src.is_ipv4() != dst.is_ipv4() {
            return Err(Error::new("source and destination have different IP versions"));
        }
        let start = *args;
        let service: Service = args.value("service")?;
        if !service.is_of(src.is_ipv6()) {
            return Err(start.error("not a protocol of this IP version:"));
        }
        Ok(Self { from, to, src, dst, service })
    }
}

/// A number of a range that stands for one; the first where it is left open.
fn one((first, _): (u16, u16)) -> u16 {
    first
}

#[derive(Serialize)]
struct Story {
    verdict: &'static str,
    /// The place of the rule; `null` for none.
    rule: Option<u32>,
    why: String,
    /// Whether there is a session, which decides without the rules.
    session: Option<String>,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.verdict, self.why)?;
        match &self.session {
            Some(session) => writeln!(f, "{session}"),
            None => Ok(()),
        }
    }
}

/// The rules' verdict on the first packet of a flow.
fn judge<V: Guarded>(
    between: &Between,
    flow: &Flow<V::Address>,
    service: &Service,
) -> Option<Verdict> {
    let upper = (one(service.first), one(service.second));
    between.judge::<V>(&V::tuple(flow, upper))
}

/// The session of a flow, in words.
fn session<V: Guarded>(router: &mut Router, flow: Flow<V::Address>) -> Option<String> {
    let now = router.engine.clock().now();
    let found = Arc::new(Mutex::new(None));
    let (to, sessions) = (Arc::clone(&found), state(router).sessions.clone());
    let _ = V::of(&sessions).visit(router, move |thread, table| {
        let Some((at, direction)) = table.find_any(&flow) else { return };
        let Some(one) = table.at(at).filter(|_| !table.is_over(at, now)) else { return };
        let rule = Some(one.data.rule).filter(|rule| *rule != u32::MAX);
        let rule = rule.map_or_else(|| "the default".to_owned(), |rule| format!("rule {rule}"));
        let way = match direction {
            sessions::Direction::Forward => "in its direction",
            sessions::Direction::Reverse => "as an answer",
        };
        let text = format!("a session of thread {thread}, {way}: permitted by {rule}");
        *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    });
    found.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn explain_of<V: Guarded>(
    router: &mut Router,
    pair: Pair,
    (src, dst): (V::Address, V::Address),
    service: &Service,
) -> Story {
    let protocol = Protocol(service.protocol);
    let ports = if protocol.has_ports() { [service.first, service.second] } else { [(0, 0); 2] };
    let [src_port, dst_port] = ports.map(one);
    let flow = Flow::new((src, src_port), (dst, dst_port), protocol, pair.scope());
    let session = if protocol.has_ports() { session::<V>(router, flow) } else { None };
    let firewall = state(router);
    let between = firewall.ruleset.current().at(pair);
    let verdict = judge::<V>(between, &flow, service);
    let (mut word, mut why, rule) = match (between, verdict) {
        (Between::All, _) => ("permit", "within a zone everything passes".to_owned(), None),
        (_, None) => ("drop", "there is no policy between the zones".to_owned(), None),
        (_, Some(Verdict { action, rule, .. })) => {
            let entry = firewall.policies.get(&pair).and_then(|p| p.rules.get(&rule?));
            let text = entry.map(|entry| Words(&entry.rule).to_string()).unwrap_or_default();
            let why = match rule {
                Some(rule) => format!("rule {rule}: {text}"),
                None => "no rule matches: default of the policy".to_owned(),
            };
            let word = match action {
                Action::Permit => "permit",
                Action::Reject => "reject",
                Action::Drop => "drop",
            };
            (word, why, rule)
        }
    };
    if session.is_some() && word != "permit" {
        (word, why) = ("permit", format!("by its session; a new one would be dropped: {why}"));
    }
    Story { verdict: word, rule, why, session }
}

fn explain(router: &mut Router, c: &Explain) -> Result<Story, Error> {
    let pair = super::pair(router, &c.from, &c.to)?;
    debug_assert!(pair.from != Zone::NONE && pair.to != Zone::NONE);
    Ok(match (c.src, c.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            explain_of::<V4>(router, pair, (src.octets(), dst.octets()), &c.service)
        }
        (src, dst) => {
            let octets = |address| match address {
                IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
                IpAddr::V6(a) => a.octets(),
            };
            explain_of::<V6>(router, pair, (octets(src), octets(dst)), &c.service)
        }
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Explain| Ok(Output::of(explain(router, &c)?)));
}
