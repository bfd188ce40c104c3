//! `l3xc`, `show l3xc`.

use net::fib::{Path, RouteOf, paths_of, words_of_path};
use net::prelude::*;

use super::Key;

/// `l3xc [add|del] INTERFACE [ip4|ip6] PATHS`. One that is deleted needs no paths.
#[derive(Debug, PartialEq)]
struct Set {
    interface: InterfaceIndex,
    is_del: bool,
    version: Option<IpVersion>,
    paths: String,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["l3xc"];
    const ABOUT: &'static str = "Set or delete the layer 3 cross-connect of an interface";
    const USAGE: &'static str = "[add|del] <interface> [ip4|ip6] {via [<next-hop>] [<interface>] \
        [next-hop-table <table-id>] [weight <n:0-255>] [preference <n:0-255>] \
        [resolve-via-host] [resolve-via-attached] [via-label <label>] [out-labels <label>...] \
        [control-word|pop-pw-cw] | \
        [via] {drop|local | lookup in table <table-id> | ip4-lookup-in-table <table-id> | \
        ip6-lookup-in-table <table-id> | mpls-lookup-in-table <table-id> | \
        rx-ip4 <interface> | rx-ip6 <interface> | udp-encap <id> | src-lookup}}...";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut is_del, mut version) = (None, false, None);
        while args.peek().is_some_and(|word| word != "via") {
            if args.keyword("add") {
                is_del = false;
            } else if args.keyword("del") {
                is_del = true;
            } else if args.keyword("ip4") {
                version = Some(IpVersion::V4);
            } else if args.keyword("ip6") {
                version = Some(IpVersion::V6);
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                break; // a path that needs no `via`
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        let paths = args.rest().to_owned();
        if paths.is_empty() && !is_del {
            return Err(args.error("expected via and a next hop or an interface"));
        }
        Ok(Self { interface, is_del, version, paths })
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" });
        line.value(&self.interface);
        line.flag("ip4", self.version == Some(IpVersion::V4));
        line.flag("ip6", self.version == Some(IpVersion::V6)).flag(&self.paths, true);
    }
}

/// Show layer 3 cross-connects.
#[derive(Command)]
#[command("show l3xc")]
struct Show;

/// The version of packets that paths are for, where one has an address.
fn version_of(text: &str) -> Option<IpVersion> {
    let mut addresses = text.split_whitespace().filter_map(|word| word.parse::<IpAddr>().ok());
    addresses.next().map(IpVersion::from)
}

fn set(router: &mut Router, c: &Set) -> Result<Output, Error> {
    let version = c.version.or_else(|| version_of(&c.paths)).unwrap_or(IpVersion::V4);
    let key = Key { interface: c.interface, version };
    let paths = paths_of(router, RouteOf::Link(version.into()), 0, &c.paths)?;
    super::set(router, key, paths)?;
    let on = router.addresses.of(c.interface);
    let (takes, word) = match version {
        IpVersion::V4 => (on.has_ip4(), "ip4"),
        IpVersion::V6 => (on.has_ip6(), "ip6"),
    };
    if takes {
        return Ok(Output::none());
    }
    let name = router.interfaces.name(c.interface.0);
    Ok(Output::text(format!(
        "{name} drops these packets until it has an address, or `enable {word} interface {name}'\n"
    )))
}

/// Deletes the cross-connect of a version, or whichever there is. Its paths may have gone already.
fn remove(router: &mut Router, c: &Set) -> Result<(), Error> {
    let known: Vec<Key> =
        super::all(router).map(|(key, _)| key).filter(|key| key.interface == c.interface).collect();
    let version = c.version.or_else(|| version_of(&c.paths)).or_else(|| {
        let has_paths = !c.paths.is_empty() && known.len() > 1;
        has_paths.then_some(IpVersion::V4)
    });
    let meant: Vec<Key> =
        known.into_iter().filter(|key| version.is_none_or(|v| v == key.version)).collect();
    if meant.is_empty() {
        return Err(super::Error::Unknown.into());
    }
    meant.into_iter().try_for_each(|key| Ok(super::remove(router, key)?))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (Key { interface, version }, paths) in super::all(router) {
        let paths: Option<Vec<_>> =
            paths.iter().map(|path| words_of_path(router, version.into(), path)).collect();
        let Some(paths) = paths else { continue };
        // Paths that have no address do not say it.
        let paths = paths.join(" ");
        let is_said = version_of(&paths).unwrap_or(IpVersion::V4) == version;
        let version = (!is_said).then_some(version);
        lines.push(&Set { interface, is_del: false, version, paths });
    }
}

#[derive(Serialize)]
struct Row {
    interface: String,
    version: &'static str,
    paths: Vec<String>,
    #[serde(skip)]
    list: String,
    #[serde(skip)]
    target: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().enumerate().try_for_each(|(index, row)| {
        let Row { interface, list, target, .. } = row;
        writeln!(f, "l3xc:[{index}]: {interface}\n{list}\n  {target}")
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| match c.is_del {
        true => remove(router, &c).map(|()| Output::none()),
        false => set(router, &c),
    });
    cli.command(|router: &mut Router, _: Show| {
        let row = |(key, paths, followed): (Key, &[Path], &net::fib::Followed)| {
            let Key { interface, version } = key;
            Row {
                list: router.describe_paths(followed),
                target: router.describe_first(followed),
                interface: router.interfaces.name(interface.0).to_owned(),
                version: version.long_name(),
                paths: paths
                    .iter()
                    .filter_map(|path| words_of_path(router, version.into(), path))
                    .collect(),
            }
        };
        Ok(Output::rows(super::followed(router).map(row), write_rows))
    });
}
