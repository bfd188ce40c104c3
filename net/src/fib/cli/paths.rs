//! The part of `ip route` that says where a route leads.

use std::net::IpAddr;

use control::cli::{Args, Error, Word};

use crate::adjacency::Link;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::path::{Gateway, Label, Path, TableIndex, Target, Through};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Paths of a route in a table, from text such as `via 10.0.1.2 pg1 weight 3 via 10.0.1.3 pg1`.
pub(crate) fn parse<F: Family>(
    router: &Router,
    table: TableIndex,
    text: &str,
) -> Result<Vec<Path>, Error> {
    let all = Args::new(text);
    let mut args = all;
    let mut paths = Vec::new();
    while !args.is_empty() {
        let is_via = args.keyword("via");
        let path = one::<F>(router, table, &mut args)?;
        let path = path.filter(|p| is_via || stands_alone(&p.target));
        paths.push(path.ok_or_else(|| all.error("parse error"))?);
    }
    Ok(paths)
}

/// Whether a path may come without `via`.
fn stands_alone(target: &Target) -> bool {
    !matches!(
        target,
        Target::Neighbor { .. }
            | Target::ForeignNeighbor { .. }
            | Target::Attached { .. }
            | Target::Recursive { .. }
    )
}

/// What the words of one path say.
struct Words {
    target: Option<Target>,
    addr: Option<IpAddr>,
    interface: Option<InterfaceIndex>,
    /// Number of the table that an address without an interface is resolved in.
    table: u32,
    through: Through,
    weight: u8,
    preference: u8,
    labels: Vec<Label>,
}

/// One path, up to the next `via`; `None` when it is not one.
fn one<F: Family>(
    router: &Router,
    table: TableIndex,
    args: &mut Args<'_>,
) -> Result<Option<Path>, Error> {
    let mut words = Words {
        target: None,
        addr: None,
        interface: None,
        table: router.fib.table_id::<F>(table).unwrap_or_default(),
        through: Through::Any,
        weight: 1,
        preference: 0,
        labels: Vec::new(),
    };
    while let Some(word) = args.peek().filter(|w| *w != "via") {
        args.word();
        if !words.take::<F>(router, word, args)? {
            return Ok(None);
        }
    }
    words.path::<F>(router)
}

impl Words {
    /// Takes one word, with what belongs to it; whether it may stand there.
    fn take<F: Family>(
        &mut self,
        router: &Router,
        word: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, Error> {
        match word {
            "weight" => self.weight = number(args)?,
            "preference" => self.preference = number(args)?,
            "next-hop-table" => self.table = number(args)?,
            "resolve-via-host" => self.through = Through::Host,
            "resolve-via-connected" | "resolve-via-attached" => self.through = Through::Attached,
            "out-labels" => {
                while let Some(label) = args.optional() {
                    self.labels.push(label);
                }
            }
            _ if self.target.is_some() => return Ok(false),
            _ => {
                self.target = target::<F>(router, word, args)?;
                if self.target.is_some() {
                    return Ok(true);
                }
                if self.addr.is_none()
                    && let Ok(addr) = word.parse()
                {
                    self.addr = Some(addr);
                } else if self.interface.is_none()
                    && let Some(named) = router.interfaces.named(word)
                {
                    self.interface = Some(named.index);
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
    fn path<F: Family>(self, router: &Router) -> Result<Option<Path>, Error> {
        let target = match self.target {
            Some(_) if self.addr.is_some() || self.interface.is_some() => None,
            Some(Target::Lookup { link, .. }) if link != F::LINK => None,
            Some(target) => Some(target),
            None => self.hop::<F>(router)?,
        };
        let Some(target) = target else { return Ok(None) };
        let weight = u16::from(self.weight);
        let are_labels = self.labels.iter().all(|l| l.value < 1 << 20);
        let labels = Some(self.labels).filter(|l| !l.is_empty()).map(Into::into);
        let path = Path { target, weight, preference: self.preference, labels };
        Ok((weight > 0 && are_labels).then_some(path))
    }
    /// A neighbour, an interface, or an address to resolve through.
    fn hop<F: Family>(&self, router: &Router) -> Result<Option<Target>, Error> {
        Ok(Some(match (self.addr, self.interface) {
            (Some(addr), Some(interface)) => Target::neighbor(F::LINK, interface, addr),
            (Some(addr), None) => {
                let table = router.fib.table_for(Link::of(addr), self.table);
                let table = table.ok_or_else(|| nonexistent(self.table))?;
                let to = Gateway { link: F::LINK, table, addr };
                Target::Recursive { to, through: self.through }
            }
            (None, Some(interface)) => Target::Attached { interface, own: F::LINK.unspecified() },
            (None, None) => return Ok(None),
        }))
    }
}

/// What is no next hop.
fn target<F: Family>(
    router: &Router,
    word: &str,
    args: &mut Args<'_>,
) -> Result<Option<Target>, Error> {
    Ok(Some(match word {
        "drop" | "blackhole" => Target::Drop,
        "punt" => Target::Punt,
        "unreachable" | "null-send-unreach" => Target::Unreachable,
        "prohibit" | "null-send-prohibit" => Target::Prohibit,
        "local" => local::<F>(router, args)?,
        "source-lookup-in-table" => {
            Target::SourceLookup { link: F::LINK, table: named::<F>(router, number(args)?)? }
        }
        "ip4-lookup-in-table" => lookup::<Ip4>(router, number(args)?)?,
        "ip6-lookup-in-table" => lookup::<Ip6>(router, number(args)?)?,
        "rx-ip4" if F::BITS == 32 => rx(router, args)?,
        "rx-ip6" if F::BITS == 128 => rx(router, args)?,
        "lookup" if args.keyword("in table") => lookup::<F>(router, number(args)?)?,
        _ => return Ok(None),
    }))
}

fn rx(router: &Router, args: &mut Args<'_>) -> Result<Target, Error> {
    let name: Word = args.value("interface")?;
    let found = router.interfaces.named(&name).ok_or_else(|| name.unknown("interface"))?;
    Ok(Target::InterfaceRx { interface: found.index })
}

fn local<F: Family>(router: &Router, args: &mut Args<'_>) -> Result<Target, Error> {
    let found = args.peek().and_then(|name| router.interfaces.named(name));
    let interface = found.map(|i| i.index);
    if interface.is_some() {
        args.word();
    }
    let addr = if args.keyword("address") { Some(args.value("address")?) } else { None };
    if addr.is_some_and(|addr| Link::of(addr) != F::LINK) {
        return Err(args.error("an address of the other version before"));
    }
    Ok(Target::Receive { interface, addr })
}

fn lookup<F: Family>(router: &Router, id: u32) -> Result<Target, Error> {
    Ok(Target::Lookup { link: F::LINK, table: named::<F>(router, id)? })
}

/// The table with this number, or the original's words for there being none.
pub fn named<F: Family>(router: &Router, id: u32) -> Result<TableIndex, Error> {
    router.fib.table::<F>(id).ok_or_else(|| nonexistent(id))
}

fn nonexistent(id: u32) -> Error {
    Error::new(format!("Nonexistent table id {id}"))
}

fn number<T: std::str::FromStr>(args: &mut Args<'_>) -> Result<T, Error> {
    args.value("number")
}
