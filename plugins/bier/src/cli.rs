//! Commands about tables and positions.

use net::fib::{RouteOf, paths_of, words_of_path};
use net::prelude::*;
use wire::bier;

use super::table::{self, BierPath, TableId};
use super::{Bier, dispose, impose};

/// Words that name a table: `sd N set N bsl BITS`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Which {
    sub_domain: u8,
    set: u8,
    length: Option<u8>,
}

impl Which {
    /// Takes one word and its value; whether it is one of a table.
    fn take(&mut self, word: &str, args: &mut Args<'_>) -> Result<bool, Error> {
        match word {
            "sd" => self.sub_domain = args.value("sub-domain")?,
            "set" => self.set = args.value("set")?,
            "bsl" => {
                let bits = args.value("bit string length")?;
                self.length = Some(bier::code_of(bits).ok_or(super::Error::Length)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
    fn id(self) -> Result<TableId, Error> {
        let length = self.length.ok_or_else(|| Error::new("missing bsl"))?;
        Ok(TableId { set: self.set, sub_domain: self.sub_domain, length })
    }
}

fn print_table(id: TableId, line: &mut Line<'_>) {
    line.word("add").keyword("sd", &id.sub_domain).keyword("set", &id.set);
    line.keyword("bsl", &(id.string_len() * 8));
}

/// `bier table [add|del] sd N set N bsl BITS [mpls LABEL]`.
#[derive(Debug, PartialEq)]
struct SetTable {
    is_del: bool,
    id: TableId,
    label: Option<u32>,
}

impl Command for SetTable {
    const PATHS: &'static [&'static str] = &["bier table"];
    const ABOUT: &'static str = "Add or delete a BIER table";
    const USAGE: &'static str =
        "[add|del] sd <sub-domain> set <set> bsl <bit-string-length> [mpls <label>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut which, mut is_del, mut label) = (Which::default(), false, None);
        while let Some(word) = args.peek() {
            args.word();
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "mpls" => {
                    let number: u32 = args.value("label")?;
                    if number >= wire::mpls::LABELS {
                        return Err(args.error("a label must be below 1048576"));
                    }
                    label = Some(number);
                }
                word if which.take(word, args)? => (),
                _ => return Err(args.error("expected sd, set, bsl or mpls")),
            }
        }
        Ok(Self { is_del, id: which.id()?, label })
    }
}

impl Print for SetTable {
    const STAGE: Stage = Stage::Objects;
    // Another label replaces the one of a table, which keeps its routes.
    const UNDO: &'static str = "=bier table del sd {sd} set {set} bsl {bsl}";
    fn print(&self, line: &mut Line<'_>) {
        print_table(self.id, line);
        line.option("mpls", self.label.as_ref());
    }
}

/// `bier route [add|del] sd N set N bsl BITS bp N {disposition TABLE | PATHS}`.
#[derive(Debug, PartialEq)]
struct SetRoute {
    is_del: bool,
    id: TableId,
    position: u32,
    disposition: Option<u32>,
    paths: String,
}

impl Command for SetRoute {
    const PATHS: &'static [&'static str] = &["bier route"];
    const ABOUT: &'static str = "Add or delete paths of a bit position";
    const USAGE: &'static str = concat!(
        "[add|del] sd <sub-domain> set <set> bsl <bit-string-length> bp <bit-position> \
        {disposition <table-id> | via ",
        net::path_usage!(),
        "}"
    );
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut which, mut is_del, mut position, mut disposition) =
            (Which::default(), false, None, None);
        while let Some(word) = args.peek().filter(|w| *w != "via") {
            args.word();
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "bp" => position = Some(args.value("bit position")?),
                "disposition" => disposition = Some(args.value("table id")?),
                word if which.take(word, args)? => (),
                _ => return Err(args.error("expected sd, set, bsl, bp or via")),
            }
        }
        let paths = args.rest().to_owned();
        if !is_del && paths.is_empty() && disposition.is_none() {
            return Err(Error::new("missing path"));
        }
        let position = position.ok_or_else(|| Error::new("missing bp"))?;
        Ok(Self { is_del, id: which.id()?, position, disposition, paths })
    }
}

impl SetRoute {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let paths = paths_of(router, RouteOf::Link(Link::Mpls), 0, &self.paths)?;
        let mut new: Vec<BierPath> = paths.into_iter().map(BierPath::Out).collect();
        new.extend(self.disposition.map(BierPath::Disposition));
        Ok(table::change_route(router, self.id, self.position, new, !self.is_del)?)
    }
    fn of(router: &Router, id: TableId, position: u32, path: &BierPath) -> Option<Self> {
        let none = Self { is_del: false, id, position, disposition: None, paths: String::new() };
        Some(match path {
            BierPath::Disposition(table) => Self { disposition: Some(*table), ..none },
            BierPath::Out(path) => Self { paths: words_of_path(router, Link::Mpls, path)?, ..none },
        })
    }
}

impl Print for SetRoute {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        print_table(self.id, line);
        line.keyword("bp", &self.position).option("disposition", self.disposition.as_ref());
        line.flag(&self.paths, !self.paths.is_empty());
    }
}

/// `bier imp [add|del] [id N] [sd N set N bsl BITS src N bp N...]`.
#[derive(Debug, PartialEq)]
struct SetImposition {
    is_del: bool,
    index: Option<u32>,
    which: Which,
    source: u16,
    positions: Vec<u32>,
}

impl Command for SetImposition {
    const PATHS: &'static [&'static str] = &["bier imp"];
    const ABOUT: &'static str = "Add or delete an imposition header for multicast routes";
    const USAGE: &'static str = "[add|del] [id <id>] [sd <sub-domain>] [set <set>] \
        [bsl <bit-string-length>] [src <bfr-id>] [bp <bit-position>]...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (which, positions) = Default::default();
        let mut new = Self { is_del: false, index: None, which, source: 0, positions };
        while let Some(word) = args.peek() {
            args.word();
            match word {
                "add" => new.is_del = false,
                "del" => new.is_del = true,
                "id" => new.index = Some(args.value("id")?),
                "src" => new.source = args.value("source")?,
                "bp" => new.positions.push(args.value("bit position")?),
                word if new.which.take(word, args)? => (),
                _ => return Err(args.error("expected id, sd, set, bsl, src or bp")),
            }
        }
        match new.is_del {
            true if new.index.is_none() => Err(Error::new("missing id")),
            false => new.which.id().map(|_| new),
            true => Ok(new),
        }
    }
}

impl Print for SetImposition {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "bier imp del id {id}";
    fn print(&self, line: &mut Line<'_>) {
        if let Ok(id) = self.which.id() {
            print_table(id, line);
        }
        line.option("id", self.index.as_ref()).keyword("src", &self.source);
        for position in &self.positions {
            line.keyword("bp", position);
        }
    }
}

impl SetImposition {
    fn carry_out(&self, router: &mut Router) -> Result<String, Error> {
        if let Some(index) = self.index.filter(|_| self.is_del) {
            impose::remove(router, index)?;
            return Ok(String::new());
        }
        let id = self.which.id()?;
        let mut string = vec![0; id.string_len()];
        for position in &self.positions {
            if *position == 0 || *position as usize > string.len() * 8 {
                return Err(super::Error::Position.into());
            }
            bier::set_position(&mut string, *position);
        }
        let index = impose::add(router, self.index, id, self.source, &string)?;
        Ok(format!("{index}\n"))
    }
}

/// Add or delete a disposition table.
#[derive(Command, Print, Debug, PartialEq)]
#[command("bier disp table")]
#[stage(Objects)]
struct SetDisposition {
    /// index
    #[positional]
    id: u32,
    /// delete
    del: bool,
}

/// Payload behind a header.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Payload {
    /// A label that the receiver chose.
    Mpls = 1,
    /// A label that the sender chose.
    MplsUp,
    /// A frame.
    Ethernet,
    /// An IPv4 packet.
    Ip4,
    /// An IPv6 packet.
    Ip6,
}

impl Payload {
    const ALL: [Self; 5] = [Self::Mpls, Self::MplsUp, Self::Ethernet, Self::Ip4, Self::Ip6];
    fn link(self) -> Link {
        dispose::link_of(self as u8).unwrap_or(Link::Mpls)
    }
}

/// `bier disp entry [add|del] table N src N payload WORD PATHS`.
#[derive(Debug, PartialEq)]
struct SetEntry {
    is_del: bool,
    table: u32,
    source: u16,
    payload: Payload,
    paths: String,
}

impl Command for SetEntry {
    const PATHS: &'static [&'static str] = &["bier disp entry"];
    const ABOUT: &'static str = "Add or delete the forwarding of a source's payload";
    const USAGE: &'static str = "[add|del] table <table-id> [src <bfr-id>] \
        payload <mpls|mpls-up|ethernet|ip4|ip6> [via {<next-hop> [<interface>] | <interface> | \
        lookup in table <table-id>} [rpf-id <n>]]...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut source, mut payload) = (false, None, dispose::ANY, None);
        while let Some(word) = args.peek().filter(|word| *word != "via") {
            args.word();
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "table" => table = Some(args.value("table id")?),
                "src" => source = args.value("source")?,
                "payload" => payload = Some(args.value("payload")?),
                _ => return Err(args.error("expected table, src, payload or via")),
            }
        }
        let paths = args.rest().to_owned();
        if !is_del && paths.is_empty() {
            return Err(Error::new("missing path"));
        }
        let table = table.ok_or_else(|| Error::new("missing table"))?;
        let payload = payload.ok_or_else(|| Error::new("missing payload"))?;
        Ok(Self { is_del, table, source, payload, paths })
    }
}

impl Print for SetEntry {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word("add").keyword("table", &self.table).keyword("src", &self.source);
        line.keyword("payload", &self.payload).word(&self.paths);
    }
}

impl SetEntry {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let paths = paths_of(router, RouteOf::Label(self.payload.link()), 0, &self.paths)?;
        let Self { table, source, payload, is_del, .. } = *self;
        Ok(dispose::change(router, table, source, payload as u8, &paths, !is_del)?)
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let bier = router.own::<Bier>();
    bier.dispositions.all.keys().for_each(|id| lines.push(&SetDisposition { id: *id, del: false }));
    for (id, t) in &bier.tables.all {
        lines.push(&SetTable { is_del: false, id: *id, label: t.label });
        for (position, paths) in &t.routes {
            let all = paths.iter().map(|(path, _)| SetRoute::of(router, *id, *position, path));
            all.flatten().for_each(|route| lines.push(&route));
        }
    }
    for index in &bier.imposed {
        let Some(header) = bier.impositions.at(*index) else { continue };
        let TableId { set, sub_domain, length } = header.table;
        lines.push(&SetImposition {
            is_del: false,
            index: Some(*index),
            which: Which { sub_domain, set, length: Some(length) },
            source: header.source,
            positions: bier::positions(&header.string).collect(),
        });
    }
    for (table, t) in &bier.dispositions.all {
        for (source, entry) in &t.entries {
            for (payload, (paths, _)) in &entry.payloads {
                let Some(payload) = Payload::ALL.into_iter().find(|p| *p as u8 == *payload) else {
                    continue;
                };
                let paths = paths.iter().map(|path| words_of_path(router, payload.link(), path));
                // Paths over a deleted interface are on their way out.
                let Some(paths) = paths.collect::<Option<Vec<_>>>() else { continue };
                let (table, source, paths) = (*table, *source, paths.join(" "));
                lines.push(&SetEntry { is_del: false, table, source, payload, paths });
            }
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTable| {
        let done = match c.is_del {
            true => table::remove(router, c.id),
            false => table::add(router, c.id, c.label),
        };
        Ok(done?)
    });
    cli.command(|router: &mut Router, c: SetRoute| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetDisposition| {
        let done = if c.del { dispose::remove(router, c.id) } else { dispose::add(router, c.id) };
        Ok(done?)
    });
    cli.command(|router: &mut Router, c: SetImposition| Ok(Output::text(c.carry_out(router)?)));
    cli.command(|router: &mut Router, c: SetEntry| c.carry_out(router));
}
