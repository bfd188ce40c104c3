//! Commands about tables and positions.

use control::cli::{Args, Cli, Command, Error};
use net::Router;
use net::adjacency::Link;
use net::fib::{RouteOf, paths_of};
use wire::bier;

use super::table::{self, TableId, Way};
use super::{Bier, dispose};

/// Words that name a table: `sd N set N bsl BITS`.
#[derive(Clone, Copy, Debug, Default)]
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

/// `bier table [add|del] sd N set N bsl BITS [mpls LABEL]`.
struct SetTable {
    is_del: bool,
    id: TableId,
    label: Option<u32>,
}

impl Command for SetTable {
    const PATHS: &'static [&'static str] = &["bier table"];
    const ABOUT: &'static str = "Add or delete a table of bit positions";
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
                        return Err(args.error("a label is below 1048576"));
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

/// `bier route [add|del] sd N set N bsl BITS bp N {disposition TABLE | PATHS}`.
struct SetRoute {
    is_del: bool,
    id: TableId,
    position: u32,
    disposition: Option<u32>,
    paths: String,
}

impl Command for SetRoute {
    const PATHS: &'static [&'static str] = &["bier route"];
    const ABOUT: &'static str = "Say which way a bit position goes";
    const USAGE: &'static str = "[add|del] sd <sub-domain> set <set> bsl <bit-string-length> \
        bp <bit-position> {disposition <table-id> | via [<next-hop>] [<interface>] \
        [next-hop-table <table-id>] [weight <n:0-255>] [preference <n:0-255>] \
        [resolve-via-host] [resolve-via-connected] out-labels <label>...}";
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
        let mut new: Vec<Way> = paths.into_iter().map(Way::Out).collect();
        new.extend(self.disposition.map(Way::Disposition));
        let table = router.own::<Bier>().tables.all.get(&self.id).ok_or(super::Error::NoTable)?;
        let had = table.routes.get(&self.position).map_or(&[][..], |ways| ways);
        let others = had.iter().map(|(way, _)| way).filter(|way| !new.contains(way)).cloned();
        let ways = match self.is_del {
            true if new.is_empty() => Vec::new(),
            true => others.collect(),
            false => others.chain(new.iter().cloned()).collect(),
        };
        Ok(table::set_route(router, self.id, self.position, ways)?)
    }
}

/// Add or delete a disposition table.
#[derive(Command)]
#[command("bier disp table")]
struct SetDisposition {
    /// its number
    #[positional]
    id: u32,
    /// deleted
    del: bool,
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
}
