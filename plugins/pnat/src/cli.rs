//! `set pnat translation`, `show pnat translations`, `show pnat interfaces`.

use std::str::FromStr;

use net::prelude::*;

use super::{Attached, Binding, End, Ends, Mask, Match, Rewrite};

/// `set pnat translation [interface NAME] match FIELDS rewrite FIELDS [in|out] [del]`.
#[derive(Debug, PartialEq)]
struct SetTranslation {
    /// The interface and its end; without one the binding is attached to none.
    at: Option<(InterfaceIndex, End)>,
    binding: Binding,
    del: bool,
}

impl Command for SetTranslation {
    const PATHS: &'static [&'static str] = &["set pnat translation"];
    const ABOUT: &'static str = "Add or delete a PNAT binding";
    const USAGE: &'static str = "[interface <interface>] match [src <src>] [dst <dst>] \
        [proto <protocol>] [sport <sport>] [dport <dport>] rewrite [src <src>] [dst <dst>] \
        [sport <sport>] [dport <dport>] [copy <byte@from> to <byte@to>] [clear <byte@at>] \
        [in|out] [del]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface =
            if args.keyword("interface") { Some(args.value("interface")?) } else { None };
        if !args.keyword("match") {
            return Err(args.error("expected match"));
        }
        let matched = parse_match(args)?;
        if !args.keyword("rewrite") {
            return Err(args.error("expected rewrite"));
        }
        let rewrite = parse_rewrite(args)?;
        let (mut end, mut del) = (None, false);
        while !args.is_empty() {
            if args.keyword("in") {
                end = Some(End::Input);
            } else if args.keyword("out") {
                end = Some(End::Output);
            } else if args.keyword("del") {
                del = true;
            } else {
                return Err(args.unknown());
            }
        }
        let at = match (interface, end) {
            (Some(interface), Some(end)) => Some((interface, end)),
            (None, None) => None,
            (Some(_), None) => return Err(args.error("expected in or out")),
            (None, Some(_)) => return Err(args.error("expected interface")),
        };
        Ok(Self { at, binding: Binding { matched, rewrite }, del })
    }
}

fn parse_match(args: &mut Args<'_>) -> Result<Match, Error> {
    let mut m = Match {
        src: Ipv4Addr::UNSPECIFIED,
        dst: Ipv4Addr::UNSPECIFIED,
        protocol: Protocol(0),
        sport: 0,
        dport: 0,
        mask: Mask::default(),
    };
    loop {
        let field = if args.keyword("src") {
            m.src = args.value("address")?;
            Mask::SRC
        } else if args.keyword("dst") {
            m.dst = args.value("address")?;
            Mask::DST
        } else if args.keyword("proto") {
            m.protocol = protocol(args)?;
            Mask::PROTO
        } else if args.keyword("sport") {
            m.sport = args.value("port")?;
            Mask::SPORT
        } else if args.keyword("dport") {
            m.dport = args.value("port")?;
            Mask::DPORT
        } else {
            return Ok(m);
        };
        m.mask = m.mask.with(field);
    }
}

/// The number of a protocol, or its name.
fn protocol(args: &mut Args<'_>) -> Result<Protocol, Error> {
    const NAMES: [(&str, Protocol); 6] = [
        ("icmp", Protocol::ICMP),
        ("tcp", Protocol::TCP),
        ("udp", Protocol::UDP),
        ("gre", Protocol::GRE),
        ("sctp", Protocol::SCTP),
        ("esp", Protocol::ESP),
    ];
    match NAMES.iter().find(|(name, _)| args.keyword(name)) {
        Some((_, protocol)) => Ok(*protocol),
        None => Ok(Protocol(args.value("protocol")?)),
    }
}

/// The number of a byte: `byte@4`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ByteAt(u8);

impl FromStr for ByteAt {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = text.strip_prefix("byte@").unwrap_or(text);
        number.parse().map(Self).map_err(drop)
    }
}

fn parse_rewrite(args: &mut Args<'_>) -> Result<Rewrite, Error> {
    let mut r = Rewrite {
        src: Ipv4Addr::UNSPECIFIED,
        dst: Ipv4Addr::UNSPECIFIED,
        sport: 0,
        dport: 0,
        mask: Mask::default(),
        from: 0,
        to: 0,
        clear: 0,
    };
    loop {
        let field = if args.keyword("src") {
            r.src = args.value("address")?;
            Mask::SRC
        } else if args.keyword("dst") {
            r.dst = args.value("address")?;
            Mask::DST
        } else if args.keyword("sport") {
            r.sport = args.value("port")?;
            Mask::SPORT
        } else if args.keyword("dport") {
            r.dport = args.value("port")?;
            Mask::DPORT
        } else if args.keyword("copy") {
            let ByteAt(from) = args.value("byte")?;
            if !args.keyword("to") {
                return Err(args.error("expected to"));
            }
            let ByteAt(to) = args.value("byte")?;
            (r.from, r.to) = (from, to);
            Mask::COPY_BYTE
        } else if args.keyword("clear") {
            let ByteAt(clear) = args.value("byte")?;
            r.clear = clear;
            Mask::CLEAR_BYTE
        } else {
            return Ok(r);
        };
        r.mask = r.mask.with(field);
    }
}

/// A match in the words of commands.
struct MatchWords(Match);

impl fmt::Display for MatchWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Match { src, dst, protocol, sport, dport, mask } = self.0;
        f.write_str("match")?;
        if mask.has(Mask::SRC) {
            write!(f, " src {src}")?;
        }
        if mask.has(Mask::DST) {
            write!(f, " dst {dst}")?;
        }
        if mask.has(Mask::PROTO) {
            write!(f, " proto {}", protocol.0)?;
        }
        if mask.has(Mask::SPORT) {
            write!(f, " sport {sport}")?;
        }
        if mask.has(Mask::DPORT) {
            write!(f, " dport {dport}")?;
        }
        Ok(())
    }
}

/// A rewrite in the words of commands.
struct RewriteWords(Rewrite);

impl fmt::Display for RewriteWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rewrite { src, dst, sport, dport, mask, from, to, clear } = self.0;
        f.write_str("rewrite")?;
        if mask.has(Mask::SRC) {
            write!(f, " src {src}")?;
        }
        if mask.has(Mask::DST) {
            write!(f, " dst {dst}")?;
        }
        if mask.has(Mask::SPORT) {
            write!(f, " sport {sport}")?;
        }
        if mask.has(Mask::DPORT) {
            write!(f, " dport {dport}")?;
        }
        if mask.has(Mask::COPY_BYTE) {
            write!(f, " copy byte@{from} to byte@{to}")?;
        }
        if mask.has(Mask::CLEAR_BYTE) {
            write!(f, " clear byte@{clear}")?;
        }
        Ok(())
    }
}

impl Print for SetTranslation {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.option("interface", self.at.map(|(interface, _)| interface).as_ref());
        line.word(MatchWords(self.binding.matched)).word(RewriteWords(self.binding.rewrite));
        if let Some((_, end)) = self.at {
            line.word(if end == End::Input { "in" } else { "out" });
        }
        line.flag("del", self.del);
    }
}

/// Show bindings.
#[derive(Command)]
#[command("show pnat translations")]
struct ShowTranslations;

/// Show interfaces with bindings.
#[derive(Command)]
#[command("show pnat interfaces")]
struct ShowInterfaces;

#[derive(Serialize)]
struct BindingRow {
    index: u32,
    #[serde(rename = "match")]
    matched: String,
    rewrite: String,
}

fn write_binding_rows(rows: &[BindingRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|BindingRow { index, matched, rewrite }| {
        writeln!(f, "[{index}] match: {{{matched}}} rewrite: {{{rewrite}}}")
    })
}

/// A field of a binding; `*` for one that does not count.
fn field(mask: Mask, field: Mask, value: impl fmt::Display) -> String {
    if mask.has(field) { value.to_string() } else { "*".into() }
}

fn row_of((index, binding): (u32, &Binding)) -> BindingRow {
    let Match { src, dst, protocol, sport, dport, mask } = binding.matched;
    let one = |of, value: &dyn fmt::Display| field(mask, of, value);
    let end = |addr, port| format!("{addr}:{port}");
    let from = end(one(Mask::SRC, &src), one(Mask::SPORT, &sport));
    let to = end(one(Mask::DST, &dst), one(Mask::DPORT, &dport));
    // A protocol is shown even where it does not count.
    let protocol = if protocol.0 == 0 { "*".into() } else { protocol.to_string() };
    let matched = format!("{from},{protocol},{to}");
    let r = binding.rewrite;
    let one = |of, value: &dyn fmt::Display| field(r.mask, of, value);
    let from = end(one(Mask::SRC, &r.src), one(Mask::SPORT, &r.sport));
    let to = end(one(Mask::DST, &r.dst), one(Mask::DPORT, &r.dport));
    let mut rewrite = format!("{from},{to}");
    if r.mask.has(Mask::COPY_BYTE) {
        rewrite += &format!(" copy byte@[{}->{}]", r.from, r.to);
    }
    if r.mask.has(Mask::CLEAR_BYTE) {
        rewrite += &format!(" clear byte@[{}]", r.clear);
    }
    BindingRow { index, matched, rewrite }
}

/// An end of an interface: the matched fields, and the bindings.
#[derive(Serialize)]
struct EndRow {
    mask: String,
    bindings: Vec<u32>,
}

impl EndRow {
    fn of(attached: &Attached) -> Option<Self> {
        let fields =
            [(Mask::SRC, "SA "), (Mask::SPORT, "SP "), (Mask::DST, "DA "), (Mask::DPORT, "DP ")];
        let has = |(field, _): &(Mask, &str)| attached.mask.has(*field);
        let mask = fields.into_iter().filter(has).map(|(_, word)| word).collect();
        let mut bindings: Vec<u32> = attached.flows.values().copied().collect();
        bindings.sort_unstable();
        (!bindings.is_empty()).then_some(Self { mask, bindings })
    }
}

#[derive(Serialize)]
struct InterfaceRow {
    sw_if_index: u32,
    interface: String,
    input: Option<EndRow>,
    output: Option<EndRow>,
}

fn write_interface_rows(rows: &[InterfaceRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for InterfaceRow { sw_if_index, input, output, .. } in rows {
        write!(f, "sw_if_index: {sw_if_index}")?;
        for (name, end) in [("input", input), ("output", output)] {
            if let Some(end) = end {
                write!(f, " {name} mask: {}", end.mask)?;
            }
        }
        f.write_str("\n")?;
    }
    Ok(())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (number, binding) in super::all(router) {
        let attached = super::attachments(router).filter(|(.., n)| *n == number);
        let places: Vec<_> = attached.map(|(interface, end, _)| Some((interface, end))).collect();
        let places = if places.is_empty() { vec![None] } else { places };
        for at in places {
            lines.push(&SetTranslation { at, binding: binding.plain(), del: false });
        }
    }
}

/// Makes a binding, or finds the same one, and attaches it.
fn set(router: &mut Router, c: &SetTranslation) -> Result<(), super::Error> {
    let found = super::all(router).find(|(_, b)| b.plain() == c.binding).map(|(number, _)| number);
    if c.del {
        let number = found.ok_or(super::Error::NotAttached)?;
        if let Some((interface, end)) = c.at {
            super::detach(router, interface, end, number)?;
            if super::attachments(router).any(|(.., n)| n == number) {
                return Ok(());
            }
        }
        return super::remove(router, number);
    }
    let number = match found {
        Some(number) => number,
        None => super::add(router, c.binding)?,
    };
    let Some((interface, end)) = c.at else { return Ok(()) };
    super::attach(router, interface, end, number).inspect_err(|_| {
        if found.is_none() {
            super::remove(router, number).expect("it was made just now");
        }
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTranslation| Ok(set(router, &c)?));
    cli.command(|router: &mut Router, _: ShowTranslations| {
        Ok(Output::rows(super::all(router).map(row_of), write_binding_rows))
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| {
        let rows = router.settings::<Ends>().map(|(interface, [input, output])| InterfaceRow {
            sw_if_index: interface.0,
            interface: router.interfaces.name(interface.0).to_owned(),
            input: EndRow::of(input),
            output: EndRow::of(output),
        });
        Ok(Output::rows(rows, write_interface_rows))
    });
}
