//! `show mpls fib`, `show mpls tunnel`, `show mpls interface`, and objects in words.

use std::fmt::Write;

use net::prelude::*;

use super::objects::AfterPop;
use super::table::{Entry, Key, Table};
use super::{Enabled, Mpls};

/// Labels as `show ip fib` says what a path puts on.
pub(super) fn imposition(router: &Router, index: u32) -> String {
    let Some(i) = router.own::<Mpls>().objects.impositions.at(index) else {
        return "mpls-label: gone".to_owned();
    };
    let mut text = format!("mpls-label[{index}]:");
    for l in &i.labels {
        let mode = if l.is_uniform { "uniform" } else { "pipe" };
        // Writing to a string does not fail.
        let _ = write!(text, "[{}:{}:{}:{mode}]", l.value, l.ttl, l.exp);
    }
    let _ = write!(text, "\n        {}", router.describe_via(i.next));
    text
}

/// Treatment of packets without their label.
pub(super) fn disposition(router: &Router, index: u32) -> String {
    let Some(d) = router.own::<Mpls>().objects.dispositions.at(index) else {
        return "mpls-disposition: gone".to_owned();
    };
    let then = match d.then {
        AfterPop::OwnTable => "dst-address lookup in interface's table".to_owned(),
        AfterPop::Via(via) => router.describe_via(via),
    };
    let rpf = if d.rpf_id == 0 { String::new() } else { format!(" rpf-id:{}", d.rpf_id) };
    format!("mpls-disposition:[{index}]:[{rpf}]\n        {then}")
}

/// Number of copies.
pub(super) fn copies(router: &Router, index: u32) -> String {
    let count = router.own::<Mpls>().copies.at(index).map_or(0, |c| c.len());
    format!("dpo-replicate: [index:{index} buckets:{count}]")
}

/// `show mpls fib [summary] [table N] [LABEL]`.
struct ShowFib {
    table: Option<u32>,
    label: Option<u32>,
    is_summary: bool,
}

impl Command for ShowFib {
    const PATHS: &'static [&'static str] = &["show mpls fib"];
    const ABOUT: &'static str = "Show label tables";
    const USAGE: &'static str = "[summary|sum|brief] [table <n>] [<label>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self { table: None, label: None, is_summary: false };
        while !args.is_empty() {
            if ["summary", "sum", "brief"].iter().any(|word| args.keyword(word)) {
                show.is_summary = true;
            } else if args.keyword("table") {
                show.table = Some(args.value("table id")?);
            } else {
                show.label = Some(args.value("label")?);
            }
        }
        Ok(show)
    }
}

#[derive(Serialize)]
struct Label {
    table_id: u32,
    label: u32,
    eos: bool,
    sources: Vec<String>,
    load_balance: u32,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    table_id: u32,
    fib_index: u16,
    count: usize,
    labels: Vec<Label>,
    #[serde(skip)]
    locks: u32,
}

fn write_tables(rows: &[Shown], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for t in rows {
        writeln!(f, "{}, fib_index:{} locks:[interface:{}, ]", t.name, t.fib_index, t.locks)?;
        if t.labels.is_empty() {
            writeln!(f, "  {} labels", t.count)?;
        }
        t.labels.iter().try_for_each(|label| f.write_str(&label.text))?;
    }
    Ok(())
}

fn label(router: &Router, t: &Table, (label, is_last): Key, e: &Entry) -> Label {
    let eos = if is_last { "eos" } else { "neos" };
    let sources: Vec<String> = e.routes.iter().map(|r| r.source.name().to_owned()).collect();
    let load_balance = e.followed.load_balance();
    let length = 20 + u32::from(is_last);
    let named = ["ip4-explicit-null", "router-alert", "ip6-explicit-null", "implicit-null"];
    let name = named.get(label as usize).map_or_else(|| label.to_string(), |n| (*n).to_owned());
    let (id, locks) = (t.id, 1 + e.routes.len());
    let mut text = format!("{name}:{eos}/{length} fib:{id} index:{load_balance} locks:{locks}\n");
    for (source, flags) in sources.iter().zip(["contributing,active,"].into_iter().chain([""])) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {source} refs:1 src-flags:added,{flags}");
    }
    text += &router.describe_followed(&e.followed, &format!("mpls-{eos}-chain"));
    Label { table_id: t.id, label, eos: is_last, sources, load_balance, text }
}

fn show_fib(router: &Router, c: &ShowFib) -> Result<Output, Error> {
    let all = &router.own::<Mpls>().tables;
    if let Some(id) = c.table.filter(|id| all.named(*id).is_none()) {
        return Err(Error::new(format!("no MPLS table {id}")));
    }
    let meant = all.iter().filter(|(_, t)| c.table.is_none_or(|id| id == t.id));
    let shown = meant.map(|(index, t)| Shown {
        name: t.name.clone(),
        table_id: t.id,
        fib_index: index.0,
        count: t.entries.len(),
        labels: t
            .entries
            .iter()
            .filter(|(key, _)| !c.is_summary && c.label.is_none_or(|label| label == key.0))
            .map(|(key, e)| label(router, t, *key, e))
            .collect(),
        locks: t.interfaces,
    });
    Ok(Output::rows(shown, write_tables))
}

/// Show MPLS tunnels.
#[derive(Command)]
#[command("show mpls tunnel")]
struct ShowTunnel {
    /// number of one
    #[positional]
    instance: Option<u32>,
}

#[derive(Serialize)]
struct TunnelRow {
    interface: String,
    tunnel: u32,
    tag: String,
    is_l2: bool,
    is_multicast: bool,
    paths: Vec<String>,
    sw_if_index: u32,
}

fn write_tunnel_rows(rows: &[TunnelRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "No MPLS tunnels configured...");
    }
    rows.iter().try_for_each(|t| {
        let TunnelRow { interface, tunnel, tag, sw_if_index, .. } = t;
        let tag = if tag.is_empty() { String::new() } else { format!("tag:{tag} ") };
        write!(f, "[@{tunnel}] {interface}: {tag}")?;
        writeln!(f, "sw_if_index:{sw_if_index} hw_if_index:{sw_if_index} ")?;
        let flags = [(t.is_multicast, "MCAST,"), (t.is_l2, "L2,")];
        let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
        if !flags.is_empty() {
            writeln!(f, " flags:{flags} ")?;
        }
        writeln!(f, " via:")?;
        t.paths.iter().try_for_each(|path| writeln!(f, "    {path}"))
    })
}

/// Show interfaces with MPLS enabled.
#[derive(Command)]
#[command("show mpls interface")]
struct ShowInterface {
    /// only this one
    #[positional]
    interface: Option<InterfaceIndex>,
}

#[derive(Serialize)]
struct InterfaceRow {
    interface: String,
    is_enabled: bool,
}

fn write_interface_rows(rows: &[InterfaceRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let state = if row.is_enabled { "enabled" } else { "disabled" };
        writeln!(f, "{}\n  MPLS {state}", row.interface)
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowFib| show_fib(router, &c));
    cli.command(|router: &mut Router, c: ShowTunnel| {
        let all = router.own::<Mpls>().tunnels.all.iter();
        let meant = all.filter(|(_, t)| c.instance.is_none_or(|i| i == t.instance));
        let row = |(interface, t): (&InterfaceIndex, &super::tunnel::Tunnel)| TunnelRow {
            interface: router.interfaces.name(interface.0).to_owned(),
            tunnel: t.instance,
            tag: t.tag.clone(),
            is_l2: t.is_l2,
            is_multicast: t.is_multicast,
            paths: t
                .paths
                .iter()
                .filter_map(|path| net::fib::words_of_path(router, Link::Ip4, path))
                .collect(),
            sw_if_index: interface.0,
        };
        Ok::<_, Error>(Output::rows(meant.map(row), write_tunnel_rows))
    });
    cli.command(|router: &mut Router, c: ShowInterface| {
        let meant = router.interfaces.iter().map(|i| i.index);
        let meant = meant.filter(|i| c.interface.is_none_or(|only| only == *i));
        let row = |i: InterfaceIndex| InterfaceRow {
            interface: router.interfaces.name(i.0).to_owned(),
            is_enabled: router.setting::<Enabled>(i).0.is_some(),
        };
        let rows = meant.map(row).filter(|row| c.interface.is_some() || row.is_enabled);
        Ok::<_, Error>(Output::rows(rows, write_interface_rows))
    });
}
