//! `map add domain`, `map add rule`, `map interface` and what shows them.

use control::cli::Text;
use net::prelude::*;

use super::table::{FRAGMENTS4, REFUSED_FROM, REFUSED_TO};
use super::{Domain, Params};

/// `map add domain [tag TAG] ip4-pfx P ip6-pfx P ip6-src P …`.
#[derive(Debug, PartialEq)]
struct AddDomain(Domain);

impl Command for AddDomain {
    const PATHS: &'static [&'static str] = &["map add domain"];
    const ABOUT: &'static str = "Make a domain";
    const USAGE: &'static str = "[tag <tag>] ip4-pfx <ip4-pfx> ip6-pfx <ip6-pfx> \
        ip6-src <ip6-src> [ea-bits-len <n:0-48>] [psid-offset <n:0-16>] [psid-len <n:0-16>] \
        [map-t] [mtu <mtu:0-65535>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut ip4, mut ip6, mut src) = (None, None, None);
        let (mut ea, mut offset, mut len, mut mtu, mut tag) = (0, 0, 0, 0, String::new());
        while !args.is_empty() {
            if args.keyword("tag") {
                tag = args.value::<Text>("tag")?.0;
            } else if args.keyword("ip4-pfx") {
                ip4 = Some(args.value("prefix")?);
            } else if args.keyword("ip6-pfx") {
                ip6 = Some(args.value("prefix")?);
            } else if args.keyword("ip6-src") {
                src = Some(source(args)?);
            } else if args.keyword("ea-bits-len") {
                ea = args.value("number of bits")?;
            } else if args.keyword("psid-offset") {
                offset = args.value("number of bits")?;
            } else if args.keyword("psid-len") {
                len = args.value("number of bits")?;
            } else if args.keyword("mtu") {
                mtu = args.value("mtu")?;
            } else if !args.keyword("map-t") {
                // Which it is, interfaces say.
                return Err(args.unknown());
            }
        }
        Ok(Self(Domain {
            ip4_prefix: ip4.ok_or_else(|| args.error("expected ip4-pfx"))?,
            ip6_prefix: ip6.ok_or_else(|| args.error("expected ip6-pfx"))?,
            ip6_src: src.ok_or_else(|| args.error("expected ip6-src"))?,
            ea_bits_len: ea,
            psid_offset: offset,
            psid_len: len,
            mtu,
            tag,
            rules: BTreeMap::new(),
        }))
    }
}

/// A prefix, or one address.
fn source(args: &mut Args<'_>) -> Result<Ip6Prefix, Error> {
    match args.optional::<Ipv6Addr>() {
        Some(addr) => Ok(Ip6Prefix::host(addr)),
        None => args.value("prefix"),
    }
}

impl Print for AddDomain {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "map del domain index {index}";
    fn print(&self, line: &mut Line<'_>) {
        let Self(d) = self;
        line.option("tag", Text::printed(&d.tag).as_ref());
        line.keyword("ip4-pfx", &d.ip4_prefix).keyword("ip6-pfx", &d.ip6_prefix);
        line.keyword("ip6-src", &d.ip6_src);
        for (word, n) in [
            ("ea-bits-len", d.ea_bits_len),
            ("psid-offset", d.psid_offset),
            ("psid-len", d.psid_len),
        ] {
            line.option(word, Some(&n).filter(|n| **n > 0));
        }
        line.option("mtu", Some(&d.mtu).filter(|mtu| **mtu > 0));
    }
}

/// Delete a MAP domain.
#[derive(Command)]
#[command("map del domain")]
struct DelDomain {
    /// index
    index: u32,
}

/// Add or delete a rule of a domain.
#[derive(Command, Print, Debug, PartialEq)]
#[command("map add rule")]
#[stage(Settings)]
struct AddRule {
    /// domain index
    index: u32,
    /// PSID
    psid: u16,
    /// the address
    ip6_dst: Ipv6Addr,
    /// delete
    del: bool,
}

/// Enable or disable MAP on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("map interface")]
#[stage(Attachments)]
struct SetInterface {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// translation (MAP-T); default encapsulation (MAP-E)
    map_t: bool,
    /// delete
    del: bool,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    // Domains get their numbers in the order in which they are made.
    for (position, (_, domain)) in (0..).zip(super::all_from(router, 0)) {
        lines.push(&AddDomain(Domain { rules: BTreeMap::new(), ..domain.clone() }));
        for (psid, ip6_dst) in &domain.rules {
            let (psid, ip6_dst) = (*psid, *ip6_dst);
            lines.push(&AddRule { index: position, psid, ip6_dst, del: false });
        }
    }
    super::params_cli::configuration(super::params(router), lines);
    for (interface, on) in super::interfaces(router) {
        for (map_t, _) in [(false, on.encapsulates), (true, on.translates)].iter().filter(|s| s.1) {
            lines.push(&SetInterface { interface, map_t: *map_t, del: false });
        }
    }
}

/// Show MAP domains.
#[derive(Command)]
#[command("show map domain")]
struct ShowDomain {
    /// only this one, with its rules
    index: Option<u32>,
    /// include counters
    counters: bool,
}

/// Show totals of all domains.
#[derive(Command)]
#[command("show map stats")]
struct ShowStats;

#[derive(Serialize)]
struct DomainRow {
    index: u32,
    tag: String,
    ip4_prefix: String,
    ip6_prefix: String,
    ip6_src: String,
    ea_bits_len: u8,
    psid_offset: u8,
    psid_len: u8,
    mtu: u16,
    rules: BTreeMap<u16, Ipv6Addr>,
    /// Packets and bytes from customers and to them.
    counters: Option<[(u64, u64); 2]>,
}

fn write_domain_rows(rows: &[DomainRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for row in rows {
        let DomainRow { index, tag, ip4_prefix, ip6_prefix, ip6_src, .. } = row;
        let tag = if tag.is_empty() { "[no-tag]" } else { tag };
        write!(f, "[{index}] tag {{{tag}}} ip4-pfx {ip4_prefix} ip6-pfx {ip6_prefix}")?;
        write!(f, " ip6-src {ip6_src} ea-bits-len {}", row.ea_bits_len)?;
        write!(f, " psid-offset {} psid-len {}", row.psid_offset, row.psid_len)?;
        let prefix = if ip6_src.ends_with("/128") { "" } else { "prefix" };
        write!(f, " mtu {} {prefix}", row.mtu)?;
        if let Some([(rx, rx_bytes), (tx, tx_bytes)]) = row.counters {
            write!(f, "  TX: {tx}/{tx_bytes}  RX: {rx}/{rx_bytes}")?;
        }
        writeln!(f)?;
        for (psid, addr) in &row.rules {
            writeln!(f, " rule psid: {psid} ip6-dst {addr}")?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Stats {
    #[serde(skip)]
    params: Params,
    domains: usize,
    rules: usize,
    /// Packets and bytes from customers and to them.
    decapsulated: (u64, u64),
    encapsulated: (u64, u64),
    ip4_fragments: u64,
    refused_from: u64,
    refused_to: u64,
}

/// The parameters in words.
fn write_params(p: &Params, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let on = |is_on: bool| if is_on { "enabled" } else { "disabled" };
    let hop = |addr: IpAddr| match addr.is_unspecified() {
        true => "un-set".to_owned(),
        false => addr.to_string(),
    };
    let (six, four) = (hop(p.next_hop6.into()), hop(p.next_hop4.into()));
    writeln!(f, "MAP pre-resolve: IP6 next-hop: {six}, IP4 next-hop: {four}")?;
    match p.copies_class {
        true => writeln!(f, "MAP traffic-class: copy")?,
        false => writeln!(f, "MAP traffic-class: {:x}", p.class)?,
    }
    if p.tcp_mss > 0 {
        writeln!(f, "MAP TCP MSS clamping: {}", p.tcp_mss)?;
    }
    let (checks, fragments) = (on(p.checks), on(p.checks_fragments));
    write!(f, "MAP IPv6 inbound security check: {checks}, ")?;
    writeln!(f, "fragmented packet security check: {fragments}")?;
    writeln!(f, "ICMP-relay IPv4 source address: {}", p.icmp_source)?;
    let unreachables = on(p.icmp6_unreachables);
    writeln!(f, "ICMP6 unreachables sent for unmatched packets: {unreachables}")?;
    writeln!(f, "Inner fragmentation: {}", on(p.cuts_inner))?;
    writeln!(f, "Fragment packets regardless of DF flag: {}", on(p.ignores_df))
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "MAP domains: {}", self.domains)?;
        writeln!(f, "MAP rules: {}", self.rules)?;
        write_params(&self.params, f)?;
        let ((encap, encap_bytes), (decap, decap_bytes)) = (self.encapsulated, self.decapsulated);
        writeln!(f, "Encapsulated packets: {encap} bytes: {encap_bytes}")?;
        writeln!(f, "Decapsulated packets: {decap} bytes: {decap_bytes}")?;
        writeln!(f, "IPv4 fragments: {}", self.ip4_fragments)?;
        let (to, from) = (self.refused_to, self.refused_from);
        writeln!(f, "Security check refused: {to} encap, {from} decap")
    }
}

fn stats(router: &Router) -> Stats {
    let mut stats = Stats {
        params: super::params(router),
        domains: 0,
        rules: 0,
        decapsulated: (0, 0),
        encapsulated: (0, 0),
        ip4_fragments: super::total(router, FRAGMENTS4).packets,
        refused_from: super::total(router, REFUSED_FROM).packets,
        refused_to: super::total(router, REFUSED_TO).packets,
    };
    for (number, domain) in super::all_from(router, 0) {
        stats.domains += 1;
        stats.rules += domain.rules.len();
        let [rx, tx] = super::counted(router, number);
        for (sum, volume) in [(&mut stats.decapsulated, rx), (&mut stats.encapsulated, tx)] {
            *sum = (sum.0 + volume.packets, sum.1 + volume.bytes);
        }
    }
    stats
}

fn row(router: &Router, (index, d): (u32, &Domain), with: (bool, bool)) -> DomainRow {
    let (with_rules, with_counters) = with;
    DomainRow {
        index,
        tag: d.tag.clone(),
        ip4_prefix: d.ip4_prefix.to_string(),
        ip6_prefix: d.ip6_prefix.to_string(),
        ip6_src: d.ip6_src.to_string(),
        ea_bits_len: d.ea_bits_len,
        psid_offset: d.psid_offset,
        psid_len: d.psid_len,
        mtu: d.mtu,
        rules: if with_rules { d.rules.clone() } else { BTreeMap::new() },
        counters: with_counters
            .then(|| super::counted(router, index).map(|volume| (volume.packets, volume.bytes))),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: AddDomain| {
        super::add(router, c.0)?;
        Ok(())
    });
    cli.command(|router: &mut Router, c: DelDomain| Ok(super::remove(router, c.index)?));
    cli.command(|router: &mut Router, c: AddRule| {
        Ok(super::set_rule(router, c.index, c.psid, c.ip6_dst, !c.del)?)
    });
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::set_interface(router, c.interface, c.map_t, !c.del)?)
    });
    cli.command(|router: &mut Router, c: ShowDomain| {
        let rows: Vec<_> = match c.index {
            Some(index) => {
                vec![row(router, (index, super::at(router, index)?), (true, c.counters))]
            }
            None => super::all_from(router, 0)
                .map(|found| row(router, found, (true, c.counters)))
                .collect(),
        };
        Ok(Output::rows(rows, write_domain_rows))
    });
    cli.command(|router: &mut Router, _: ShowStats| Ok(Output::of(stats(router))));
}
