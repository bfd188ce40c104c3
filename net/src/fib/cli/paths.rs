//! The paths of `ip route`.

use std::net::IpAddr;

use control::cli::{Args, Error, Word};

use crate::adjacency::Link;
use crate::fib::control::labels::RouteOf;
use crate::fib::control::path::{Gateway, Label, Path, TableIndex, Target, Through};
use crate::fib::family::Family;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Words of a path after `via`, for usage lines.
#[macro_export]
macro_rules! path_usage {
    () => {
        "[<next-hop>] [<interface>] [next-hop-table <table-id>] [weight <n:0-255>] \
        [preference <n:0-255>] [resolve-via-host] [resolve-via-connected|resolve-via-attached] \
        [via-label <label>] [out-labels <label>...] [control-word|pop-pw-cw] [rpf-id <n>] \
        [ip4-lookup-in-table|ip6-lookup-in-table|mpls-lookup-in-table <table-id>] [src-lookup] \
        [source-lookup-in-table <table-id>] [lookup in table <table-id>] \
        [rx-ip4|rx-ip6 <interface>] [udp-encap|udp-encap-id <id>] [classify <table>] \
        [dvr <interface>] [ip4|ip6] [local|drop|null|punt|unreachable|null-send-unreach|prohibit|\
        null-send-prohibit]"
    };
}

/// Paths of a route of any table, from text such as `via 10.0.1.2 pg1 weight 3 via 10.0.1.3 pg1`.
/// As in the original, addresses without an interface are of table 0 unless the text says more.
pub(crate) fn parse<F: Family>(router: &Router, text: &str) -> Result<Vec<Path>, Error> {
    parse_of(router, RouteOf::Link(F::LINK), 0, text)
}

/// Paths of a route of any kind; addresses without an interface are resolved in table `table`.
///
/// # Errors
/// Invalid text, a missing table.
pub fn parse_of(router: &Router, of: RouteOf, table: u32, text: &str) -> Result<Vec<Path>, Error> {
    let all = Args::new(text);
    let mut args = all;
    let mut paths = Vec::new();
    while !args.is_empty() {
        let mut wrong = args.peek().unwrap_or_default();
        let is_via = args.keyword("via");
        let path = one(router, of, table, &mut args, &mut wrong).map_err(|e| e.in_tail(text))?;
        let path = path.filter(|p| is_via || stands_alone(&p.target));
        paths.push(path.ok_or_else(|| refused(router, text, wrong))?);
    }
    Ok(paths)
}

/// Interfaces among whose names that is looked for.
const MOST_NAMES: usize = 1000;
/// Words that may stand in a path, for what was meant by another one.
const WORDS: &[&str] = &[
    "via",
    "weight",
    "preference",
    "next-hop-table",
    "resolve-via-host",
    "resolve-via-connected",
    "resolve-via-attached",
    "out-labels",
    "via-label",
    "control-word",
    "rpf-id",
    "drop",
    "blackhole",
    "punt",
    "unreachable",
    "prohibit",
    "local",
    "lookup",
    "source-lookup-in-table",
    "ip4-lookup-in-table",
    "ip6-lookup-in-table",
    "mpls-lookup-in-table",
];

/// The error of a text that is no list of paths, for its word `wrong`.
fn refused(router: &Router, text: &str, wrong: &str) -> Error {
    let names = router.interfaces.iter().take(MOST_NAMES).map(|i| i.name.as_str());
    let error = Error::new(format!("parse error `{}'", Args::new(text).remaining()));
    error.at(wrong).meaning(Some(wrong), WORDS.iter().copied().chain(names)).in_tail(text)
}

/// Whether a path may come without `via`.
fn stands_alone(target: &Target) -> bool {
    !matches!(
        target,
        Target::Neighbor { .. }
            | Target::ForeignNeighbor { .. }
            | Target::Attached { .. }
            | Target::Recursive { .. }
    )
}

/// Words of one path.
struct Words {
    target: Option<Target>,
    addr: Option<IpAddr>,
    interface: Option<InterfaceIndex>,
    /// Number of the table that an address without an interface is resolved in.
    table: u32,
    through: Through,
    weight: u8,
    preference: u8,
    labels: Vec<Label>,
    via_label: Option<u32>,
    has_control_word: bool,
    rpf_id: u32,
    /// Whether the source of packets is looked up, not where they go.
    is_of_source: bool,
}

/// One path, up to the next `via`; `None` when it is not one, with the word that is `wrong`.
fn one<'a>(
    router: &Router,
    of: RouteOf,
    table: u32,
    args: &mut Args<'a>,
    wrong: &mut &'a str,
) -> Result<Option<Path>, Error> {
    let mut words = Words {
        target: None,
        addr: None,
        interface: None,
        table,
        via_label: None,
        has_control_word: false,
        rpf_id: 0,
        is_of_source: false,
        through: Through::Any,
        weight: 1,
        preference: 0,
        labels: Vec::new(),
    };
    while let Some(word) = args.peek().filter(|w| *w != "via") {
        args.word();
        if !words.take(router, of, word, args)? {
            *wrong = word;
            return Ok(None);
        }
    }
    words.path(router, of)
}

impl Words {
    /// Takes one word, with what belongs to it; whether it may stand there.
    fn take(
        &mut self,
        router: &Router,
        of: RouteOf,
        word: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, Error> {
        match word {
            "weight" => self.weight = number(args)?,
            "preference" => self.preference = number(args)?,
            "control-word" | "pop-pw-cw" => self.has_control_word = true,
            "rpf-id" => self.rpf_id = number(args)?,
            "src-lookup" => self.is_of_source = true,
            // The version that packets of the route have anyway.
            "ip4" | "ip6" if word == of.link().word() => {}
            "next-hop-table" => self.table = number(args)?,
            "resolve-via-host" => self.through = Through::Host,
            "resolve-via-connected" | "resolve-via-attached" => self.through = Through::Attached,
            "out-labels" => {
                while let Some(label) = args.peek().and_then(named_label) {
                    args.word();
                    self.labels.push(out_label(label, args)?);
                }
            }
            "via-label" => {
                let word: Word = args.value("label")?;
                let label = named_label(&word).ok_or_else(|| word.unknown("label"))?;
                self.via_label = Some(label.value);
            }
            _ if self.target.is_some() => return Ok(false),
            _ => {
                self.target = target(router, of, word, args)?;
                if self.target.is_some() {
                    return Ok(true);
                }
                if self.addr.is_none()
                    && let Ok(addr) = word.parse()
                {
                    self.addr = Some(addr);
                } else if self.interface.is_none()
                    && let Some(named) = router.interfaces.named(word)
                {
                    self.interface = Some(named.index);
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
    fn path(self, router: &Router, of: RouteOf) -> Result<Option<Path>, Error> {
        let weight = u16::from(self.weight);
        let are_labels = self.labels.iter().all(|l| l.value < 1 << 20);
        let mut failed = None;
        let path =
            of.path(&self.labels, self.has_control_word, self.rpf_id, |link| match self.target {
                Some(_) if self.addr.is_some() || self.interface.is_some() => None,
                Some(Target::Lookup { link, .. }) if link != of.link() => None,
                Some(Target::Lookup { link, table }) if self.is_of_source => {
                    Some(Target::SourceLookup { link, table })
                }
                _ if self.is_of_source => None,
                Some(target) => Some(target),
                None => self.hop(router, link).unwrap_or_else(|e| {
                    failed = Some(e);
                    None
                }),
            });
        if let Some(e) = failed {
            return Err(e);
        }
        let path = path.map(|p| Path { weight, preference: self.preference, ..p });
        Ok(path.filter(|_| weight > 0 && are_labels))
    }
    /// A neighbour, an interface, or an address to resolve through.
    fn hop(&self, router: &Router, link: Link) -> Result<Option<Target>, Error> {
        if let Some(label) = self.via_label {
            let is_fit = link != Link::Ethernet && self.addr.is_none() && self.interface.is_none();
            let target = Target::Label { table: self.table, label };
            return Ok(Some(target).filter(|_| is_fit));
        }
        Ok(Some(match (self.addr, self.interface) {
            (Some(addr), Some(interface)) => Target::neighbor(link, interface, addr),
            (Some(addr), None) => {
                let table = router.fib.table_for(Link::of(addr), self.table);
                let table = table.ok_or_else(|| nonexistent(self.table))?;
                let to = Gateway { link, table, addr };
                Target::Recursive { to, through: self.through }
            }
            (None, Some(interface)) => Target::attached(link, interface),
            (None, None) => return Ok(None),
        }))
    }
}

/// Target of a path without a next hop.
fn target(
    router: &Router,
    of: RouteOf,
    word: &str,
    args: &mut Args<'_>,
) -> Result<Option<Target>, Error> {
    Ok(Some(match word {
        "drop" | "null" | "blackhole" => Target::Drop,
        "punt" => Target::Punt,
        "unreachable" | "null-send-unreach" => Target::Unreachable,
        "prohibit" | "null-send-prohibit" => Target::Prohibit,
        "local" => local(router, of.link(), args)?,
        "source-lookup-in-table" => {
            let (link, id) = (of.link(), number(args)?);
            let table = router.table_of(link, id).ok_or_else(|| nonexistent(id))?;
            Target::SourceLookup { link, table }
        }
        "ip4-lookup-in-table" => lookup(router, Link::Ip4, number(args)?)?,
        "ip6-lookup-in-table" => lookup(router, Link::Ip6, number(args)?)?,
        "mpls-lookup-in-table" => lookup(router, Link::Mpls, number(args)?)?,
        word if word.strip_prefix("rx-") == Some(of.link().word()) => rx(router, args)?,
        "l2-input-on" if of.link() == Link::Ethernet => rx(router, args)?,
        "lookup" if args.keyword("in table") => lookup(router, of.link(), number(args)?)?,
        _ => return router.parse_object(of, word, args),
    }))
}

fn rx(router: &Router, args: &mut Args<'_>) -> Result<Target, Error> {
    let name: Word = args.value("interface")?;
    let found = router.interfaces.named(&name).ok_or_else(|| name.unknown("interface"))?;
    Ok(Target::InterfaceRx { interface: found.index })
}

fn local(router: &Router, link: Link, args: &mut Args<'_>) -> Result<Target, Error> {
    let found = args.peek().and_then(|name| router.interfaces.named(name));
    let interface = found.map(|i| i.index);
    if interface.is_some() {
        args.word();
    }
    let addr = if args.keyword("address") { Some(args.value("address")?) } else { None };
    if addr.is_some_and(|addr| Link::of(addr) != link) {
        return Err(args.error("address family mismatch before"));
    }
    Ok(Target::Receive { interface, addr })
}

fn lookup(router: &Router, link: Link, id: u32) -> Result<Target, Error> {
    let table = router.table_of(link, id).ok_or_else(|| nonexistent(id))?;
    Ok(Target::Lookup { link, table })
}

/// A label, by name or as it is written.
fn named_label(word: &str) -> Option<Label> {
    let value = match word {
        "ip4-explicit-null" | "ipv4-explicit-null" => 0,
        "router-alert" => 1,
        "ip6-explicit-null" | "ipv6-explicit-null" => 2,
        "implicit-null" => Label::IMPLICIT_NULL,
        text => return text.parse().ok(),
    };
    Some(Label { value, ttl: 0, exp: 0, is_uniform: false })
}

/// A label and its options.
fn out_label(mut label: Label, args: &mut Args<'_>) -> Result<Label, Error> {
    loop {
        if args.keyword("ttl") {
            label.ttl = number(args)?;
        } else if args.keyword("exp") {
            label.exp = number(args)?;
        } else if args.keyword("uniform") {
            label.is_uniform = true;
        } else if !args.keyword("pipe") {
            return Ok(label);
        }
    }
}

/// The table with this number, or the original's words for there being none.
pub fn named<F: Family>(router: &Router, id: u32) -> Result<TableIndex, Error> {
    router.fib.table::<F>(id).ok_or_else(|| nonexistent(id))
}

fn nonexistent(id: u32) -> Error {
    Error::new(format!("Nonexistent table id {id}"))
}

fn number<T: std::str::FromStr>(args: &mut Args<'_>) -> Result<T, Error> {
    args.value("number")
}
