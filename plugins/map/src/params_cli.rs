//! `map params …`: parameters of all domains.

use net::prelude::*;

use super::Params;

/// `map params fragment inner|outer [ignore-df|honor-df]`.
#[derive(Debug, PartialEq)]
struct SetFragment {
    inner: Option<bool>,
    ignores_df: Option<bool>,
}

impl Command for SetFragment {
    const PATHS: &'static [&'static str] = &["map params fragment"];
    const ABOUT: &'static str = "Set fragmentation";
    const USAGE: &'static str = "[inner|outer] [ignore-df|honor-df]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut inner, mut ignores_df) = (None, None);
        while !args.is_empty() {
            if args.keyword("inner") {
                inner = Some(true);
            } else if args.keyword("outer") {
                inner = Some(false);
            } else if args.keyword("ignore-df") {
                ignores_df = Some(true);
            } else if args.keyword("honor-df") {
                ignores_df = Some(false);
            } else {
                return Err(args.unknown());
            }
        }
        if inner.is_none() && ignores_df.is_none() {
            return Err(args.error("expected inner, outer, ignore-df or honor-df"));
        }
        Ok(Self { inner, ignores_df })
    }
}

impl Print for SetFragment {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=map params fragment outer honor-df";
    fn print(&self, line: &mut Line<'_>) {
        for (set, words) in
            [(self.inner, ["outer", "inner"]), (self.ignores_df, ["honor-df", "ignore-df"])]
        {
            set.into_iter().for_each(|is| {
                line.word(words[usize::from(is)]);
            });
        }
    }
}

/// Set the source address of relayed ICMP errors.
#[derive(Command, Print, Debug, PartialEq)]
#[command("map params icmp source-address")]
#[undo("=map params icmp source-address 0.0.0.0")]
#[stage(Settings)]
struct SetIcmp {
    /// address; 0.0.0.0 for no errors
    #[positional]
    ip4_address: Ipv4Addr,
}

/// `map params icmp6 unreachables on|off`.
#[derive(Debug, PartialEq)]
struct SetIcmp6 {
    on: bool,
}

/// `on` or `off`.
fn on_off(args: &mut Args<'_>) -> Result<bool, Error> {
    match () {
        () if args.keyword("on") => Ok(true),
        () if args.keyword("off") => Ok(false),
        () => Err(args.error("expected on or off")),
    }
}

impl Command for SetIcmp6 {
    const PATHS: &'static [&'static str] = &["map params icmp6 unreachables"];
    const ABOUT: &'static str = "Enable or disable ICMPv6 errors for failed security checks";
    const USAGE: &'static str = "on|off";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Ok(Self { on: on_off(args)? })
    }
}

impl Print for SetIcmp6 {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=map params icmp6 unreachables off";
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.on { "on" } else { "off" });
    }
}

/// Set or remove the next hops used instead of routes.
#[derive(Command, Print, Debug, PartialEq)]
#[command("map params pre-resolve")]
#[stage(Settings)]
struct SetPreResolve {
    /// delete
    del: bool,
    /// IPv4 next hop
    ip4_nh: Option<Ipv4Addr>,
    /// IPv6 next hop
    ip6_nh: Option<Ipv6Addr>,
}

/// `map params security-check [enable|disable] [fragments on|off]`.
#[derive(Debug, PartialEq)]
struct SetCheck {
    on: Option<bool>,
    fragments: Option<bool>,
}

impl Command for SetCheck {
    const PATHS: &'static [&'static str] = &["map params security-check"];
    const ABOUT: &'static str = "Enable or disable the security check of source addresses and \
        ports";
    const USAGE: &'static str = "[enable|disable] [fragments on|off]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut on, mut fragments) = (None, None);
        while !args.is_empty() {
            if args.keyword("enable") {
                on = Some(true);
            } else if args.keyword("disable") {
                on = Some(false);
            } else if args.keyword("fragments") {
                fragments = Some(on_off(args)?);
            } else {
                return Err(args.unknown());
            }
        }
        if on.is_none() && fragments.is_none() {
            return Err(args.error("expected enable, disable or fragments"));
        }
        Ok(Self { on, fragments })
    }
}

impl Print for SetCheck {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=map params security-check enable fragments off";
    fn print(&self, line: &mut Line<'_>) {
        if let Some(on) = self.on {
            line.word(if on { "enable" } else { "disable" });
        }
        if let Some(on) = self.fragments {
            line.word("fragments").word(if on { "on" } else { "off" });
        }
    }
}

/// Set the TCP MSS clamp; 0 for none.
#[derive(Command, Print, Debug, PartialEq)]
#[command("map params tcp-mss")]
#[undo("=map params tcp-mss 0")]
#[stage(Settings)]
struct SetMss {
    /// in bytes
    #[positional]
    value: u16,
}

/// `map params traffic-class {copy | 0xNN}`.
#[derive(Debug, PartialEq)]
struct SetClass {
    /// `None`: that of the packet.
    class: Option<u8>,
}

impl Command for SetClass {
    const PATHS: &'static [&'static str] = &["map params traffic-class"];
    const ABOUT: &'static str = "Set the traffic class of encapsulated packets";
    const USAGE: &'static str = "copy|<0x0-0xff>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("copy") {
            return Ok(Self { class: None });
        }
        let read = |word: &str| {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            u8::from_str_radix(digits, 16).ok()
        };
        let class =
            args.peek().and_then(read).ok_or_else(|| args.error("invalid traffic class"))?;
        args.word();
        Ok(Self { class: Some(class) })
    }
}

impl Print for SetClass {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=map params traffic-class copy";
    fn print(&self, line: &mut Line<'_>) {
        match self.class {
            Some(class) => line.word(format_args!("{class:#x}")),
            None => line.word("copy"),
        };
    }
}

pub(super) fn configuration(p: Params, lines: &mut Lines<'_>) {
    let old = Params::default();
    if (p.cuts_inner, p.ignores_df) != (old.cuts_inner, old.ignores_df) {
        let (inner, ignores_df) = (Some(p.cuts_inner), Some(p.ignores_df));
        lines.push(&SetFragment { inner, ignores_df });
    }
    if p.icmp_source != old.icmp_source {
        lines.push(&SetIcmp { ip4_address: p.icmp_source });
    }
    if p.icmp6_unreachables != old.icmp6_unreachables {
        lines.push(&SetIcmp6 { on: p.icmp6_unreachables });
    }
    let ip4_nh = Some(p.next_hop4).filter(|hop| *hop != old.next_hop4);
    let ip6_nh = Some(p.next_hop6).filter(|hop| *hop != old.next_hop6);
    if ip4_nh.is_some() || ip6_nh.is_some() {
        lines.push(&SetPreResolve { del: false, ip4_nh, ip6_nh });
    }
    if (p.checks, p.checks_fragments) != (old.checks, old.checks_fragments) {
        lines.push(&SetCheck { on: Some(p.checks), fragments: Some(p.checks_fragments) });
    }
    if p.copies_class != old.copies_class {
        lines.push(&SetClass { class: (!p.copies_class).then_some(p.class) });
    }
    if p.tcp_mss != old.tcp_mss {
        lines.push(&SetMss { value: p.tcp_mss });
    }
}

/// Changes the parameters.
fn change(router: &mut Router, with: impl FnOnce(&mut Params)) -> Result<(), Error> {
    let mut params = super::params(router);
    with(&mut params);
    Ok(super::set_params(router, params)?)
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetFragment| {
        change(router, |p| {
            p.cuts_inner = c.inner.unwrap_or(p.cuts_inner);
            p.ignores_df = c.ignores_df.unwrap_or(p.ignores_df);
        })
    });
    cli.command(|router: &mut Router, c: SetIcmp| {
        change(router, |p| p.icmp_source = c.ip4_address)
    });
    cli.command(|router: &mut Router, c: SetIcmp6| change(router, |p| p.icmp6_unreachables = c.on));
    cli.command(|router: &mut Router, c: SetPreResolve| {
        if c.ip4_nh.is_none() && c.ip6_nh.is_none() {
            return Err(Error::new("missing ip4-nh or ip6-nh"));
        }
        change(router, |p| {
            if let Some(hop) = c.ip4_nh {
                p.next_hop4 = if c.del { Ipv4Addr::UNSPECIFIED } else { hop };
            }
            if let Some(hop) = c.ip6_nh {
                p.next_hop6 = if c.del { Ipv6Addr::UNSPECIFIED } else { hop };
            }
        })
    });
    cli.command(|router: &mut Router, c: SetCheck| {
        change(router, |p| {
            p.checks = c.on.unwrap_or(p.checks);
            p.checks_fragments = c.fragments.unwrap_or(p.checks_fragments);
        })
    });
    cli.command(|router: &mut Router, c: SetClass| {
        change(router, |p| {
            (p.copies_class, p.class) = (c.class.is_none(), c.class.unwrap_or_default());
        })
    });
    cli.command(|router: &mut Router, c: SetMss| change(router, |p| p.tcp_mss = c.value));
}
