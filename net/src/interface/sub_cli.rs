//! Commands about sub-interfaces.

use control::cli::{Args, Cli, Command, Error, Line, Print};
use control::configuration::Stage;

use super::{InterfaceIndex, SubInterface};
use crate::router::Router;

/// Sub-interfaces that one command makes at most.
const MOST: u32 = 4096;

/// `create sub-interfaces`.
#[derive(Debug, PartialEq)]
pub(super) struct Create {
    pub parent: InterfaceIndex,
    pub first: SubInterface,
    /// Number of the last one of a range, each for the VLAN of its number.
    pub last: u32,
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create sub-interfaces"];
    const ABOUT: &'static str = "Create VLAN sub-interfaces";
    const USAGE: &'static str = "<interface> {<id> [default | untagged [inexact]] | <id>-<id> | \
        <id> dot1q|dot1ad <vlan:1-4094>|any [inner-dot1q <vlan:1-4094>|any] [exact-match]}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let parent = args.value("interface")?;
        let (id, last) = ids(args)?;
        let first = if last == id && !args.is_empty() { tagging(args, id)? } else { plain(id)? };
        Ok(Self { parent, first, last })
    }
}

impl Print for Create {
    const STAGE: Stage = Stage::SubInterfaces;
    const UNDO: &'static str = "delete sub-interface {1}.{2}";
    fn print(&self, line: &mut Line<'_>) {
        let sub = &self.first;
        line.value(&self.parent).value(&sub.id);
        let vlan = |vlan: Option<u16>| vlan.map_or("any".to_owned(), |vlan| vlan.to_string());
        match sub.tags {
            0 if sub.is_default => line.word("default"),
            0 => line.word("untagged").flag("inexact", !sub.is_exact),
            _ => line.keyword(if sub.is_dot1ad { "dot1ad" } else { "dot1q" }, &vlan(sub.outer)),
        };
        if sub.tags == 2 {
            line.keyword("inner-dot1q", &vlan(sub.inner));
        }
        line.flag("exact-match", sub.tags > 0 && sub.is_exact);
    }
}

/// Delete a sub-interface.
#[derive(Command)]
#[command("delete sub-interface")]
struct Delete {
    /// sub-interface
    #[positional]
    interface: InterfaceIndex,
}

/// `5` or `5-7`.
fn ids(args: &mut Args<'_>) -> Result<(u32, u32), Error> {
    let place = *args;
    let word = args.word().ok_or("missing sub-interface ID")?;
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last && last - first < MOST => Ok((first, last)),
        _ => Err(place.error("invalid sub-interface ID")),
    }
}

/// The number is the VLAN, too.
fn plain(id: u32) -> Result<SubInterface, Error> {
    let vlan = u16::try_from(id).map_err(|_| Error::new("a VLAN ID is 1 to 4095"))?;
    Ok(SubInterface::dot1q(id, vlan))
}

fn tagging(args: &mut Args<'_>, id: u32) -> Result<SubInterface, Error> {
    let sub = SubInterface { id, ..SubInterface::default() };
    if args.keyword("default") {
        return Ok(SubInterface { is_default: true, ..sub });
    }
    if args.keyword("untagged") {
        // Including tags that no other sub-interface matches.
        return Ok(SubInterface { is_exact: !args.keyword("inexact"), ..sub });
    }
    let mut sub = match args.word() {
        Some("dot1q") => SubInterface { tags: 1, ..sub },
        Some("dot1ad") => SubInterface { tags: 1, is_dot1ad: true, ..sub },
        _ => return Err(Error::new("expected default, untagged, dot1q or dot1ad")),
    };
    sub.outer = vlan(args)?;
    if args.keyword("inner-dot1q") {
        (sub.tags, sub.inner) = (2, vlan(args)?);
    }
    sub.is_exact = args.keyword("exact-match");
    Ok(sub)
}

fn vlan(args: &mut Args<'_>) -> Result<Option<u16>, Error> {
    if args.keyword("any") { Ok(None) } else { args.value("vlan").map(Some) }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        let parent = c.parent;
        let mut names = Vec::new();
        for id in c.first.id..=c.last {
            let sub = if id == c.first.id { c.first } else { plain(id)? };
            let index = router.add_sub_interface(parent, sub)?;
            names.push(router.interfaces.name(index.0).to_owned());
        }
        Ok(names.join("\n"))
    });
    cli.command(|router: &mut Router, c: Delete| Ok(router.remove_sub_interface(c.interface)?));
}
