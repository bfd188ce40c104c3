//! `ipsec policy`.

use std::ops::RangeInclusive;

use net::prelude::*;

use crate::spd::{self, Action, Policy, Spd};

/// `ipsec policy [add|del] spd <id> priority <n> …`.
#[derive(Debug, PartialEq)]
struct SetPolicy {
    is_del: bool,
    spd: u32,
    policy: Policy,
}

const ALL_4: (IpAddr, IpAddr) =
    (IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), IpAddr::V4(std::net::Ipv4Addr::BROADCAST));
const ALL_6: (IpAddr, IpAddr) = (
    IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    IpAddr::V6(std::net::Ipv6Addr::from_bits(u128::MAX)),
);

/// A range, written `first - last`.
fn range<T: control::cli::Value + PartialOrd>(
    args: &mut Args<'_>,
    what: &str,
) -> Result<RangeInclusive<T>, Error> {
    let (first, last): (T, _) = args.range(what)?;
    let last = last.ok_or_else(|| args.error("expected - and the end of the range"))?;
    if first > last {
        return Err(args.error("the range ends before it begins"));
    }
    Ok(first..=last)
}

/// An action; the association of a protecting one may be given anywhere.
#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Bypass,
    Discard,
    Protect,
}

impl Verb {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let all =
            [("bypass", Self::Bypass), ("discard", Self::Discard), ("protect", Self::Protect)];
        let found = all.into_iter().find(|(word, _)| args.keyword(word));
        found.map(|(_, verb)| verb).ok_or_else(|| args.unknown())
    }
    fn with(self, sa: Option<u32>, args: &Args<'_>) -> Result<Action, Error> {
        match (self, sa) {
            (Self::Protect, Some(sa)) => Ok(Action::Protect(sa)),
            (Self::Protect, None) => Err(args.error("expected sa")),
            (_, Some(_)) => Err(args.error("sa requires action protect")),
            (Self::Bypass, None) => Ok(Action::Bypass),
            (Self::Discard, None) => Ok(Action::Discard),
        }
    }
}

impl Command for SetPolicy {
    const PATHS: &'static [&'static str] = &["ipsec policy"];
    const ABOUT: &'static str = "Add or delete a security policy";
    const USAGE: &'static str = "[add|del] spd <id> priority <n> inbound|outbound [ip4|ip6] \
        [protocol <n>] [action bypass|discard|protect sa <id>] \
        [local-ip-range <first> - <last>] [remote-ip-range <first> - <last>] \
        [local-port-range <first> - <last>] [remote-port-range <first> - <last>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut is_del = false;
        let (mut spd, mut priority, mut is_6, mut is_outbound) = (None, 0, None, None);
        let (mut verb, mut sa, mut protocol) = (Verb::Bypass, None, None);
        let (mut local, mut remote) = (None, None);
        let (mut local_ports, mut remote_ports) = (0..=u16::MAX, 0..=u16::MAX);
        while !args.is_empty() {
            if args.keyword("add") {
                is_del = false;
            } else if args.keyword("del") {
                is_del = true;
            } else if args.keyword("spd") {
                spd = Some(args.value("spd")?);
            } else if args.keyword("priority") {
                priority = args.value("priority")?;
            } else if args.keyword("inbound") {
                is_outbound = Some(false);
            } else if args.keyword("outbound") {
                is_outbound = Some(true);
            } else if args.keyword("ip4") {
                is_6 = Some(false);
            } else if args.keyword("ip6") {
                is_6 = Some(true);
            } else if args.keyword("protocol") {
                protocol = Some(Protocol(args.value("protocol")?)).filter(|p| p.0 != 255);
            } else if args.keyword("action") {
                verb = Verb::take(args)?;
            } else if args.keyword("sa") {
                sa = Some(args.value("sa")?);
            } else if args.keyword("local-ip-range") {
                local = Some(range::<IpAddr>(args, "local-ip-range")?);
            } else if args.keyword("remote-ip-range") {
                remote = Some(range::<IpAddr>(args, "remote-ip-range")?);
            } else if args.keyword("local-port-range") {
                local_ports = range::<u16>(args, "local-port-range")?;
            } else if args.keyword("remote-port-range") {
                remote_ports = range::<u16>(args, "remote-port-range")?;
            } else {
                return Err(args.unknown());
            }
        }
        let spd = spd.ok_or_else(|| args.error("expected spd"))?;
        let is_outbound = is_outbound.ok_or_else(|| args.error("expected inbound or outbound"))?;
        let said = local.as_ref().or(remote.as_ref()).map(|range| range.start().is_ipv6());
        let is_6 = is_6.or(said).unwrap_or(false);
        let all = || if is_6 { ALL_6.0..=ALL_6.1 } else { ALL_4.0..=ALL_4.1 };
        let (local, remote) = (local.unwrap_or_else(all), remote.unwrap_or_else(all));
        let is_kind = |addr: &IpAddr| addr.is_ipv6() == is_6;
        let all = [local.start(), local.end(), remote.start(), remote.end()];
        if !all.into_iter().all(is_kind) {
            return Err(args.error("different address families"));
        }
        let policy = Policy {
            priority,
            is_outbound,
            is_6,
            action: verb.with(sa, args)?,
            protocol,
            remote,
            local,
            remote_ports,
            local_ports,
        };
        Ok(Self { is_del, spd, policy })
    }
}

impl Print for SetPolicy {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        let p = &self.policy;
        line.word(if self.is_del { "del" } else { "add" });
        line.keyword("spd", &self.spd).keyword("priority", &p.priority);
        line.word(if p.is_outbound { "outbound" } else { "inbound" });
        line.word(if p.is_6 { "ip6" } else { "ip4" });
        line.option("protocol", p.protocol.map(|p| p.0).as_ref());
        match p.action {
            Action::Bypass => line.word("action bypass"),
            Action::Discard => line.word("action discard"),
            Action::Protect(sa) => line.word(format_args!("action protect sa {sa}")),
        };
        for (word, range) in [("local-ip-range", &p.local), ("remote-ip-range", &p.remote)] {
            line.word(format_args!("{word} {} - {}", range.start(), range.end()));
        }
        let ports = [("local-port-range", &p.local_ports), ("remote-port-range", &p.remote_ports)];
        for (word, range) in ports {
            if *range != (0..=u16::MAX) {
                line.word(format_args!("{word} {} - {}", range.start(), range.end()));
            }
        }
    }
}

pub(super) fn configuration(spd: &Spd, lines: &mut Lines<'_>) {
    for (_, policy) in spd.policies() {
        lines.push(&SetPolicy { is_del: false, spd: spd.id(), policy: policy.clone() });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetPolicy| match c.is_del {
        true => spd::remove_policy(router, c.spd, &c.policy).map(|_| ()).map_err(Error::from),
        false => spd::add_policy(router, c.spd, c.policy).map(|_| ()).map_err(Error::from),
    });
}
