//! `abf policy`, `abf attach`, `show abf …`.

use net::fib::{Path, RouteOf, path_words, paths_of};
use net::prelude::*;

use super::{Attached, LINKS, all, attachments};

/// `abf policy [add|del] id N acl N via …`.
#[derive(Debug, PartialEq)]
struct SetPolicy {
    is_del: bool,
    id: u32,
    list: Option<u32>,
    paths: String,
}

impl Command for SetPolicy {
    const PATHS: &'static [&'static str] = &["abf policy"];
    const ABOUT: &'static str = "Add or delete a policy, or some of its paths";
    const USAGE: &'static str =
        concat!("[add|del] id <index> acl <index> {via ", net::path_usage!(), "}...");

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut id, mut list, mut is_del) = (None, None, false);
        loop {
            if args.keyword("add") {
                is_del = false;
            } else if args.keyword("del") {
                is_del = true;
            } else if args.keyword("id") {
                id = Some(args.value("id")?);
            } else if args.keyword("acl") {
                list = Some(args.value("acl")?);
            } else {
                break;
            }
        }
        let id = id.ok_or_else(|| args.error("expected id"))?;
        if list.is_none() && !is_del {
            return Err(args.error("expected acl"));
        }
        if args.is_empty() && !is_del {
            return Err(args.error("expected via"));
        }
        Ok(Self { is_del, id, list, paths: args.rest().to_owned() })
    }
}

impl Print for SetPolicy {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" });
        line.keyword("id", &self.id).option("acl", self.list.as_ref()).flag(&self.paths, true);
    }
}

/// Attach a policy to an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("abf attach")]
#[stage(State)]
struct Attach {
    /// address family
    #[positional]
    #[words]
    version: IpVersion,
    /// detach
    #[opposite("add")]
    del: bool,
    /// policy
    policy: u32,
    /// the lowest is tried first
    #[default]
    priority: u32,
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Show policies.
#[derive(Command)]
#[command("show abf policy")]
struct ShowPolicies {
    /// only this one
    #[positional]
    policy: Option<u32>,
}

/// Show attached policies.
#[derive(Command)]
#[command("show abf attach")]
struct ShowAttached {
    /// only on this interface
    #[positional]
    interface: Option<InterfaceIndex>,
}

/// The paths in words, for packets of both versions, and the version of the next hops.
fn read(router: &Router, text: &str) -> Result<(usize, [Vec<Path>; 2]), Error> {
    let is_ip6 = text.split_whitespace().any(|word| word.parse::<std::net::Ipv6Addr>().is_ok());
    let paths = |at: usize| paths_of(router, RouteOf::Link(LINKS[at]), 0, text);
    let version = usize::from(is_ip6);
    // What packets of the other version cannot take they do without.
    let (own, other) = (paths(version)?, paths(1 - version).unwrap_or_default());
    Ok((version, if is_ip6 { [other, own] } else { [own, other] }))
}

fn words(router: &Router, version: usize, path: &Path) -> Option<String> {
    match version {
        1 => path_words::<Ip6>(router, path),
        _ => path_words::<Ip4>(router, path),
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (id, policy) in all(router) {
        let path = |path| words(router, policy.version, path);
        let paths: Option<Vec<_>> = policy.paths().iter().map(path).collect();
        let Some(paths) = paths else { continue };
        let paths = paths.join(" ");
        lines.push(&SetPolicy { is_del: false, id, list: Some(policy.list), paths });
    }
    for (interface, version, attachment) in attachments(router) {
        let Attached { policy, priority, .. } = *attachment;
        let version = IpVersion::six(version == 1);
        lines.push(&Attach { version, del: false, policy, priority, interface });
    }
}

#[derive(Serialize)]
struct Row {
    #[serde(skip)]
    index: usize,
    policy: u32,
    acl: u32,
    paths: Vec<String>,
    #[serde(skip)]
    list: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { index, policy, acl, list, .. }| {
        writeln!(f, "abf:[{index}]: policy:{policy} acl:{acl}")?;
        match list.is_empty() {
            true => Ok(()),
            false => write!(f, " {list}"),
        }
    })
}

#[derive(Serialize)]
struct Where {
    interface: String,
    version: &'static str,
    policy: u32,
    priority: u32,
    #[serde(skip)]
    target: String,
}

fn write_wheres(rows: &[Where], with_names: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut last = None;
    rows.iter().try_for_each(|row| {
        let Where { interface, version, policy, priority, target } = row;
        if last != Some((interface, version)) {
            let name = if with_names { format!("{interface} ") } else { String::new() };
            writeln!(f, "{name}{version}:")?;
            last = Some((interface, version));
        }
        writeln!(f, " abf-interface-attach: policy:{policy} priority:{priority}\n  {target}")
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetPolicy| {
        if c.is_del && c.paths.is_empty() {
            return Ok(super::remove(router, c.id, &[])?);
        }
        let (version, paths) = read(router, &c.paths)?;
        match (c.is_del, c.list) {
            (false, Some(list)) => Ok(super::add(router, c.id, list, version, paths)?),
            _ => Ok(super::remove(router, c.id, &paths[version])?),
        }
    });
    cli.command(|router: &mut Router, c: Attach| {
        let Attach { version, policy, priority, interface, .. } = c;
        let version = version as usize;
        match c.del {
            false => super::attach(router, policy, interface, version, priority)?,
            true => super::detach(router, policy, interface, version)?,
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: ShowPolicies| {
        let meant = all(router).enumerate();
        let meant = meant.filter(|(_, (id, _))| c.policy.is_none_or(|only| only == *id));
        let row = |(index, (policy, p)): (usize, (u32, &super::Policy))| Row {
            index,
            policy,
            list: p.followed(p.version).map_or(String::new(), |f| router.describe_paths(f)),
            acl: p.list,
            paths: p.paths().iter().filter_map(|path| words(router, p.version, path)).collect(),
        };
        Ok(Output::rows(meant.map(row), write_rows))
    });
    cli.command(|router: &mut Router, c: ShowAttached| {
        let meant = attachments(router).filter(|(i, ..)| c.interface.is_none_or(|only| only == *i));
        let row = |(interface, version, attachment): (InterfaceIndex, usize, &Attached)| Where {
            interface: router.interfaces.name(interface.0).to_owned(),
            version: LINKS[version].name(),
            policy: attachment.policy,
            priority: attachment.priority,
            target: all(router)
                .find(|(id, _)| *id == attachment.policy)
                .and_then(|(_, policy)| policy.followed(version))
                .map_or(String::new(), |followed| router.describe_first(followed)),
        };
        let with_names = c.interface.is_none();
        Ok(Output::rows(meant.map(row), move |rows, f| write_wheres(rows, with_names, f)))
    });
}
