//! Commands that show tables, paths and headers.

use std::fmt::Write;

use net::prelude::*;
use wire::bier;

use super::table::{BierPath, Table, TableId};
use super::{Bier, dispose};

/// A table in words.
pub fn id(id: TableId) -> String {
    let bits = id.string_len() * 8;
    format!("sub-domain:{} set:{} bsl:{bits}", id.sub_domain, id.set)
}

/// Show tables by BIFT ID.
#[derive(Command)]
#[command("show bier bift")]
struct ShowBift {
    /// only this set
    set: Option<u8>,
    /// only this sub-domain
    sd: Option<u8>,
    /// only this bit string length
    bsl: Option<u32>,
}

/// Show BIER tables.
#[derive(Command)]
#[command("show bier fib")]
struct ShowFib {
    /// only this table
    #[positional]
    table: Option<u32>,
    /// only this bit position
    #[positional]
    position: Option<u32>,
}

/// Show forwarding masks: paths to other routers.
#[derive(Command)]
#[command("show bier fmask")]
struct ShowFmask {
    /// only this one
    #[positional]
    index: Option<u32>,
}

/// Show imposition headers.
#[derive(Command)]
#[command("show bier imp")]
struct ShowImp {
    /// only this one
    #[positional]
    index: Option<u32>,
}

/// Show the disposition tables.
#[derive(Command)]
#[command("show bier disp table")]
struct ShowDispTable {
    /// only this one
    #[positional]
    table: Option<u32>,
}

/// Show disposition entries, by table and source.
#[derive(Command)]
#[command("show bier disp entry")]
struct ShowDispEntry {
    /// only this source
    #[positional]
    source: Option<u16>,
}

#[derive(Serialize)]
struct Shown {
    index: u32,
    table: String,
    label: Option<u32>,
    number: u32,
    positions: Vec<(u32, Vec<String>)>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[@{}] bier-table:[{}", self.index, self.table)?;
        if let Some(label) = self.label {
            write!(f, " local-label:{label}")?;
        }
        writeln!(f, " bift-id:{}]", self.number)?;
        for (position, paths) in &self.positions {
            writeln!(f, "  bp:{position}")?;
            paths.iter().try_for_each(|path| writeln!(f, "    {path}"))?;
        }
        Ok(())
    }
}

fn path_text(router: &Router, path: &BierPath) -> String {
    let path = match path {
        BierPath::Disposition(table) => return format!("bier-disp-table:{table}"),
        BierPath::Out(path) => path,
    };
    let fmasks = router.own::<Bier>().tables.fmasks.iter();
    let kept = fmasks.filter(|((p, _), _)| p == path).map(|(_, kept)| kept).next();
    let is_up = kept.is_some_and(|kept| router.fib.leads_on(&kept.followed));
    let mut text = format!("bier-fmask:{}", kept.map_or(0, |kept| kept.index));
    let labels = path.labels.iter().flat_map(|l| l.iter());
    labels.for_each(|label| {
        let _ = write!(text, " out-label:{label}");
    });
    text + if is_up { "" } else { " unresolved" }
}

fn shown(router: &Router, (of, t): (&TableId, &Table), only: Option<u32>) -> Shown {
    let all = t.routes.iter().filter(|(position, _)| only.is_none_or(|o| o == **position));
    let words =
        |paths: &[(BierPath, _)]| paths.iter().map(|(path, _)| path_text(router, path)).collect();
    let positions = all.map(|(position, paths)| (*position, words(paths))).collect();
    Shown { index: t.index, table: id(*of), label: t.label, number: of.number(), positions }
}

#[derive(Serialize)]
struct Fmask {
    index: u32,
    path: String,
}

impl fmt::Display for Fmask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.path)
    }
}

#[derive(Serialize)]
struct Imposition {
    index: u32,
    table: String,
    source: u16,
    positions: Vec<u32>,
}

impl fmt::Display for Imposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, table, source, positions } = self;
        writeln!(f, "bier-imp:[{index}]: {table} src:{source} bps:{positions:?}")
    }
}

#[derive(Serialize)]
struct Entry {
    table: u32,
    source: u16,
    payload: u8,
    paths: usize,
    resolved: bool,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, source, payload, paths, resolved } = self;
        let state = if *resolved { "" } else { " unresolved" };
        writeln!(f, "bier-disp-table:{table} src:{source} proto:{payload} paths:{paths}{state}")
    }
}

fn entries(router: &Router) -> Vec<Entry> {
    let all = router.own::<Bier>().dispositions.all.iter();
    let of = |(table, t): (&u32, &dispose::Table)| {
        let mut rows = Vec::new();
        for (source, e) in &t.entries {
            for (payload, (paths, followed)) in &e.payloads {
                rows.push(Entry {
                    table: *table,
                    source: *source,
                    payload: *payload,
                    paths: paths.len(),
                    resolved: router.fib.leads_on(followed),
                });
            }
        }
        rows
    };
    all.flat_map(of).collect()
}

fn rows<T: Serialize + fmt::Display>(all: Vec<T>) -> Result<Output, Error> {
    let text = all.iter().map(ToString::to_string).collect::<String>();
    Ok(Output::both(text, all))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowBift| {
        let length = c.bsl.map(|bits| bier::code_of(bits).ok_or(super::Error::Length));
        let length = length.transpose()?;
        let all = router.own::<Bier>().tables.all.iter();
        let meant = all.filter(|(id, _)| {
            let is_set = c.set.is_none_or(|set| set == id.set);
            let is_domain = c.sd.is_none_or(|sd| sd == id.sub_domain);
            is_set && is_domain && length.is_none_or(|length| length == id.length)
        });
        let shown =
            meant.map(|table| Shown { positions: Vec::new(), ..shown(router, table, None) });
        rows(shown.collect())
    });
    cli.command(|router: &mut Router, c: ShowFib| {
        let all = router.own::<Bier>().tables.all.iter();
        let meant = all.filter(|(_, t)| c.table.is_none_or(|index| index == t.index));
        rows(meant.map(|table| shown(router, table, c.position)).collect())
    });
    cli.command(|router: &mut Router, c: ShowFmask| {
        let fmasks = router.own::<Bier>().tables.fmasks.iter();
        let fmask = fmasks.map(|((path, _), kept)| {
            let path = path_text(router, &BierPath::Out(path.clone()));
            Fmask { index: kept.index, path }
        });
        let is_meant = |fmask: &Fmask| c.index.is_none_or(|index| index == fmask.index);
        let mut all: Vec<Fmask> = fmask.filter(is_meant).collect();
        all.order_by_key(|fmask| fmask.index);
        rows(all)
    });
    cli.command(|router: &mut Router, c: ShowImp| {
        let bier = router.own::<Bier>();
        let meant = bier.imposed.iter().filter(|i| c.index.is_none_or(|index| index == **i));
        let row = meant.filter_map(|index| {
            let imposition = bier.impositions.at(*index)?;
            let positions = bier::positions(&imposition.string).collect();
            let (table, source) = (id(imposition.table), imposition.source);
            Some(Imposition { index: *index, table, source, positions })
        });
        rows(row.collect())
    });
    cli.command(|router: &mut Router, c: ShowDispTable| {
        let all = entries(router).into_iter();
        rows(all.filter(|e| c.table.is_none_or(|table| table == e.table)).collect())
    });
    cli.command(|router: &mut Router, c: ShowDispEntry| {
        let all = entries(router).into_iter();
        rows(all.filter(|e| c.source.is_none_or(|source| source == e.source)).collect())
    });
}
