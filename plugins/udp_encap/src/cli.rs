//! Commands about encapsulations and decapsulations.

use net::prelude::*;

use super::decap::{self, UdpDecapNextProto};
use super::{Decap, Encaps, UdpEncap};

/// `udp encap [add|del] [id ID] SRC DST [SRC-PORT] DST-PORT [src-port-is-entropy] [table-id N]`.
#[derive(Debug, PartialEq)]
struct SetEncap {
    is_del: bool,
    id: Option<u32>,
    ends: Vec<IpAddr>,
    ports: Vec<u16>,
    is_entropy: bool,
    table_id: u32,
}

impl Command for SetEncap {
    const PATHS: &'static [&'static str] = &["udp encap"];
    const ABOUT: &'static str = "Add or delete a UDP encapsulation";
    const USAGE: &'static str = "[add|del] [id|index <id>] [<src-address>] [<dst-address>] \
        [<src-port>] [<dst-port>] [src-port-is-entropy] [table-id <table-id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (ends, ports) = Default::default();
        let mut new = Self { is_del: false, id: None, ends, ports, is_entropy: false, table_id: 0 };
        while let Some(word) = args.peek() {
            let (is_addr, is_port) = (word.parse::<IpAddr>().is_ok(), word.parse::<u64>().is_ok());
            if is_addr && new.ends.len() < 2 {
                new.ends.push(args.value("address")?);
            } else if is_port && new.ports.len() < 2 {
                new.ports.push(args.value("port")?);
            } else if args.keyword("add") {
                new.is_del = false;
            } else if args.keyword("del") {
                new.is_del = true;
            } else if args.keyword("id") || args.keyword("index") {
                new.id = Some(args.value("id")?);
            } else if args.keyword("src-port-is-entropy") {
                new.is_entropy = true;
            } else if args.keyword("table-id") {
                new.table_id = args.value("table id")?;
            } else {
                return Err(args.unknown());
            }
        }
        match new.is_del {
            true if new.id.is_none() => Err(Error::new("missing id")),
            false if new.ends.len() < 2 => Err(Error::new("missing source or destination address")),
            false if new.ports.is_empty() => Err(Error::new("missing destination port")),
            _ => Ok(new),
        }
    }
}

impl Print for SetEncap {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.word("add").option("id", self.id.as_ref());
        line.values(&self.ends).values(&self.ports);
        line.flag("src-port-is-entropy", self.is_entropy);
        line.option("table-id", Some(&self.table_id).filter(|id| **id != 0));
    }
}

impl SetEncap {
    fn carry_out(&self, router: &mut Router) -> Result<Output, Error> {
        if self.is_del {
            let id = self.id.ok_or_else(|| Error::new("missing id"))?;
            super::remove(router, id)?;
            return Ok(Output::none());
        }
        let (&[src, dst], Some(dst_port)) = (&self.ends[..], self.ports.last()) else {
            return Err(Error::new("missing source or destination address, or destination port"));
        };
        let src_port = self.ports.first().filter(|_| self.ports.len() == 2 && !self.is_entropy);
        if self.ports.len() < 2 && !self.is_entropy {
            return Err(Error::new("missing source port, or src-port-is-entropy"));
        }
        let (src_port, table_id) = (src_port.copied().filter(|port| *port != 0), self.table_id);
        let new = UdpEncap { src, dst, src_port, dst_port: *dst_port, table_id };
        let id = super::add(router, self.id, new)?;
        Ok(Output::text(format!("{id}\n")))
    }
    fn of(id: u32, e: &UdpEncap) -> Self {
        Self {
            is_del: false,
            id: Some(id),
            ends: vec![e.src, e.dst],
            ports: e.src_port.into_iter().chain([e.dst_port]).collect(),
            is_entropy: e.src_port.is_none(),
            table_id: e.table_id,
        }
    }
}

/// Words for what is behind a UDP header.
const INNER: [&str; 3] = ["ip4", "ip6", "mpls"];

/// `udp decap [add|del] [ipv4|ipv6] PORT next-proto PROTOCOL`.
#[derive(Debug, PartialEq)]
struct SetDecap {
    is_del: bool,
    at: Decap,
    next: Option<UdpDecapNextProto>,
}

impl Command for SetDecap {
    const PATHS: &'static [&'static str] = &["udp decap"];
    const ABOUT: &'static str = "Enable or disable decapsulation of a UDP port";
    const USAGE: &'static str = "[add|del] [ipv4|ipv6] <dst-port> [next-proto <ip4|ip6|mpls>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut version, mut port, mut next) = (false, IpVersion::V4, None, None);
        while !args.is_empty() {
            if args.keyword("add") {
                is_del = false;
            } else if args.keyword("del") {
                is_del = true;
            } else if args.keyword("ipv4") {
                version = IpVersion::V4;
            } else if args.keyword("ipv6") {
                version = IpVersion::V6;
            } else if args.keyword("next-proto") {
                let known = INNER.iter().position(|word| args.keyword(word));
                let known = known.ok_or_else(|| args.error("expected ip4, ip6 or mpls"))?;
                next = Some(UdpDecapNextProto(known as u32));
            } else if port.is_none() {
                port = Some(args.value("port")?);
            } else {
                return Err(args.unknown());
            }
        }
        if !is_del && next.is_none() {
            return Err(Error::new("missing next-proto"));
        }
        let port = port.ok_or_else(|| Error::new("missing port"))?;
        Ok(Self { is_del, at: Decap { version, port }, next })
    }
}

impl Print for SetDecap {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.word("add").word(self.at.version.long_name()).value(&self.at.port);
        let word = self.next.and_then(|next| INNER.get(next.0 as usize));
        line.option("next-proto", word);
    }
}

/// Show UDP encapsulations.
#[derive(Command)]
#[command("show udp encap")]
struct Show {
    /// only this one
    #[positional]
    id: Option<u32>,
}

/// An encapsulation as it is listed.
#[derive(Serialize)]
struct Row {
    id: u32,
    table_id: u32,
    src: IpAddr,
    dst: IpAddr,
    /// `None`: stands for the flow.
    src_port: Option<u16>,
    dst_port: u16,
    locks: u32,
    load_balance: u32,
    packets: u64,
    bytes: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, table_id, src, dst, src_port, dst_port, packets, bytes, .. } = self;
        write!(f, "udp-encap:[{id}]: ip-fib-index:{table_id} ip:[src:{src}, dst:{dst}] udp:[src:")?;
        let flags = if src_port.is_none() { "src-port-is-entropy" } else { "none" };
        write!(f, "{}", src_port.unwrap_or_default())?;
        write!(f, ", dst:{dst_port}] flags:{flags} to:[{packets}:{bytes}]]")
    }
}

fn write_rows(rows: &[Row], is_detailed: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let Row { load_balance, locks, .. } = row;
        match is_detailed {
            true => writeln!(
                f,
                "{row} locks:{locks}\n Stacked on:\n  [@0]: dpo-load-balance: \
                 [index:{load_balance}]"
            ),
            false => writeln!(f, "{row}"),
        }
    })
}

fn row(router: &Router, id: u32) -> Option<Row> {
    let made = router.own::<Encaps>().made.get(&id)?;
    let UdpEncap { src, dst, src_port, dst_port, table_id } = made.encap;
    let locks = made.users + u32::from(made.is_wanted);
    let (load_balance, count) = (made.followed.load_balance(), super::counted(router, id));
    let (packets, bytes) = (count.packets, count.bytes);
    Some(Row { id, table_id, src, dst, src_port, dst_port, locks, load_balance, packets, bytes })
}

/// An encapsulation in words.
pub(super) fn describe(router: &Router, id: u32) -> Option<String> {
    row(router, id).map(|row| row.to_string())
}

fn show(router: &Router, only: Option<u32>) -> Result<Output, Error> {
    let all = &router.own::<Encaps>().made;
    if let Some(id) = only.filter(|id| !all.contains_key(id)) {
        return Err(super::Error::Unknown(id).into());
    }
    let ids = all.keys().filter(|id| only.is_none_or(|only| only == **id));
    let rows = ids.filter_map(|id| row(router, *id));
    Ok(Output::rows(rows, move |rows, f| write_rows(rows, only.is_some(), f)))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let encaps = router.own::<Encaps>();
    for (id, made) in encaps.made.iter().filter(|(_, made)| made.is_wanted) {
        lines.push(&SetEncap::of(*id, &made.encap));
    }
    for (at, next) in &encaps.decaps {
        lines.push(&SetDecap { is_del: false, at: *at, next: Some(*next) });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetEncap| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetDecap| {
        Ok(match c.next {
            Some(next) if !c.is_del => decap::add(router, c.at, next),
            _ => decap::remove(router, c.at),
        }?)
    });
    cli.command(|router: &mut Router, c: Show| show(router, c.id));
}
