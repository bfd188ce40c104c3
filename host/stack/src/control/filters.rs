//! Requests to change and list session rules and deny rules.

use net::Router;
use wire::{IpVersion, Prefix};

use net::fib::TableIndex;

use super::error::Error;
use super::namespaces::{self, Namespace};
use super::published::Backend;
use super::rules::{Match, NONE, Rule};
use super::sdl::SdlRule;
use super::tables::Place;
use super::{Control, backend, check_enabled};

/// Longest tag in bytes.
pub const LONGEST_TAG: usize = 63;

/// The tables that contain a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, control::cli::Words)]
pub enum Scope {
    /// The routing table of the namespace.
    #[default]
    Global,
    /// The local table of the namespace.
    Local,
    /// Both tables.
    All,
}

/// Seconds for which changes of large tables are collected before they are published.
const LATE: f64 = 0.02;
/// Number of rows per slice of a dump.
const SLICE: usize = 64;

fn check_rules(router: &Router) -> Result<(), Error> {
    check_enabled(router)?;
    let is_table = backend(router) == Some(Backend::RuleTable);
    if is_table { Ok(()) } else { Err(Error::NoRuleTable) }
}

fn check_sdl(router: &Router) -> Result<(), Error> {
    check_enabled(router)?;
    if backend(router) == Some(Backend::Sdl) { Ok(()) } else { Err(Error::NoSdl) }
}

fn check_tag(tag: &str) -> Result<(), Error> {
    let is_tag = tag.is_empty() || control::cli::is_word(tag) && tag.is_ascii();
    if is_tag && tag.len() <= LONGEST_TAG { Ok(()) } else { Err(Error::BadTag) }
}

fn table_of(namespace: &Namespace, version: IpVersion) -> Result<TableIndex, Error> {
    let table = namespace.tables[version as usize];
    table.ok_or_else(|| Error::NoTableOf(namespace.of.id.clone(), version.name()))
}

fn places(
    namespace: u32,
    of: &Namespace,
    version: IpVersion,
    scope: Scope,
) -> Result<Vec<Place>, Error> {
    let mut places = Vec::new();
    if scope != Scope::Local {
        places.push(Place::Global(version, table_of(of, version)?));
    }
    if scope != Scope::Global {
        places.push(Place::Local(namespace));
    }
    Ok(places)
}

/// Adds or replaces a rule in the tables of a namespace, selected by scope.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_rule(
    router: &mut Router,
    namespace: u32,
    scope: Scope,
    (found, rule): (Match, Rule),
) -> Result<(), Error> {
    check_rules(router)?;
    check_tag(&rule.tag)?;
    let of = namespaces::at(router, namespace)?;
    let places = places(namespace, of, found.version(), scope)?;
    let tables = &mut router.own_mut::<Control>().tables;
    for place in &places {
        tables.rules(*place).map_or(Ok(()), |rules| rules.check(&found))?;
    }
    let mut is_late = false;
    for place in places {
        is_late |= tables.change_rule(place, found, Some(rule.clone()));
    }
    catch_up_later(router, is_late);
    Ok(())
}

/// Removes a rule from the tables of a namespace, selected by scope.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_rule(
    router: &mut Router,
    namespace: u32,
    scope: Scope,
    found: Match,
) -> Result<(), Error> {
    check_rules(router)?;
    let of = namespaces::at(router, namespace)?;
    let places = places(namespace, of, found.version(), scope)?;
    let tables = &mut router.own_mut::<Control>().tables;
    let is_there =
        |place: &Place| tables.rules(*place).is_some_and(|rules| rules.get(&found).is_some());
    if !places.iter().all(is_there) {
        return Err(Error::NoRule);
    }
    let mut is_late = false;
    for place in places {
        is_late |= tables.change_rule(place, found, None);
    }
    catch_up_later(router, is_late);
    Ok(())
}

/// Takes the rules out that send connections to an application.
pub(super) fn forget_app(router: &mut Router, app: u32) {
    let is_late = router.own_mut::<Control>().tables.forget_app(app);
    catch_up_later(router, is_late);
}

/// Schedules publication of pending rules, once for all changes of the interval.
fn catch_up_later(router: &mut Router, is_late: bool) {
    let is_due = &mut router.own_mut::<Control>().is_catching_up;
    if is_late && !std::mem::replace(is_due, true) {
        router.after(LATE, catch_up, 0);
    }
}

fn catch_up(router: &mut Router, _: u64) {
    let control = router.own_mut::<Control>();
    control.is_catching_up = false;
    control.tables.catch_up();
}

/// A row of the rule tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// The table.
    pub place: Place,
    /// The connections that it matches.
    pub found: Match,
    /// The action.
    pub rule: Rule,
    /// Namespaces that use the table, ascending.
    pub namespaces: Vec<u32>,
}

/// Rule tables in order: those of routing tables, IPv4 first, then those of namespaces.
pub fn rule_tables(router: &Router) -> Vec<(Place, Vec<u32>)> {
    if backend(router) != Some(Backend::RuleTable) {
        return Vec::new();
    }
    let tables = &router.own::<Control>().tables;
    let global = tables.global.iter().map(|((version, table), global)| {
        (Place::Global(*version, *table), global.namespaces.iter().copied().collect())
    });
    let local = tables.local.keys().map(|namespace| (Place::Local(*namespace), vec![*namespace]));
    global.chain(local).collect()
}

/// Rows of a table: for each transport and IP version the default rule, then the others.
pub fn rules_at(router: &Router, place: Place) -> Vec<(Match, Rule)> {
    use super::published::Transport;
    let tables = &router.own::<Control>().tables;
    let Some(rules) = tables.rules(place) else { return Vec::new() };
    let versions = match place {
        Place::Global(version, _) => vec![version],
        Place::Local(_) => IpVersion::ALL.to_vec(),
    };
    let mut rows = Vec::new();
    for transport in Transport::ALL {
        for version in &versions {
            let any = Match::any(*version, transport);
            let unset = Rule { action: NONE, tag: String::new() };
            rows.push((any, rules.get(&any).cloned().unwrap_or(unset)));
            let others = rules.of(transport, *version).filter(|(found, _)| **found != any);
            rows.extend(others.map(|(found, rule)| (*found, rule.clone())));
        }
    }
    rows
}

/// The rule that a connection matches in the tables of a scope.
///
/// # Errors
/// [`Error::NoNamespaceIndex`], [`Error::NoTableOf`].
pub fn rule_of(
    router: &Router,
    namespace: u32,
    scope: Scope,
    flow: &Match,
) -> Result<Option<(Match, Rule)>, Error> {
    check_rules(router)?;
    let of = namespaces::at(router, namespace)?;
    let tables = &router.own::<Control>().tables;
    let places = places(namespace, of, flow.version(), scope)?;
    let found = places.iter().find_map(|place| tables.rules(*place)?.meets(flow));
    Ok(found.map(|(found, rule)| (*found, rule.clone())))
}

/// Iterator over the rows of all rule tables, for listing in slices.
pub(super) struct RuleRows {
    tables: std::vec::IntoIter<(Place, Vec<u32>)>,
    rows: std::vec::IntoIter<RuleRow>,
}

impl RuleRows {
    pub(super) fn of(router: &Router) -> Self {
        Self { tables: rule_tables(router).into_iter(), rows: Vec::new().into_iter() }
    }
    /// The next row.
    pub(super) fn next(&mut self, router: &Router) -> Option<RuleRow> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            let (place, namespaces) = self.tables.next()?;
            let rules = rules_at(router, place).into_iter();
            let row =
                |(found, rule)| RuleRow { place, found, rule, namespaces: namespaces.clone() };
            self.rows = rules.map(row).collect::<Vec<_>>().into_iter();
        }
    }
}

/// A change of the source deny list of a namespace's routing table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Peers.
    pub peers: Prefix,
    /// The rule to add; `None` to remove it.
    pub rule: Option<SdlRule>,
}

/// Checks changes of the deny lists of a namespace's tables.
///
/// # Errors
/// [`Error`].
pub fn check_denials(router: &Router, namespace: u32, denials: &[Denial]) -> Result<(), Error> {
    check_sdl(router)?;
    let of = namespaces::at(router, namespace)?;
    let tables = &router.own::<Control>().tables;
    for denial in denials {
        let version = IpVersion::from(denial.peers);
        let table = table_of(of, version)?;
        match &denial.rule {
            Some(rule) => check_tag(&rule.tag)?,
            None => {
                let list = tables.deny((version, table));
                let found = list.and_then(|list| list.get(&denial.peers));
                found.map(drop).ok_or_else(|| Error::NoSdlRule(denial.peers.network()))?;
            }
        }
    }
    let room = |version| {
        let new =
            denials.iter().filter(|d| d.rule.is_some() && IpVersion::from(d.peers) == version);
        let list = table_of(of, version).ok().and_then(|table| tables.deny((version, table)));
        let known = |denial: &&Denial| list.is_none_or(|list| list.get(&denial.peers).is_none());
        new.filter(known).count() + list.map_or(0, |list| list.len()) <= super::MOST_SDL
    };
    let is_room = IpVersion::ALL.into_iter().all(room);
    if is_room { Ok(()) } else { Err(Error::TooManySdl) }
}

/// Applies a change that has been checked. A namespace deleted in the meantime is an error.
///
/// # Errors
/// [`Error::NoSdl`], [`Error::NoNamespaceIndex`] if deleted since, [`Error::TooManySdl`].
pub fn change_denial(router: &mut Router, namespace: u32, denial: Denial) -> Result<(), Error> {
    check_sdl(router)?;
    let of = namespaces::at(router, namespace)?;
    let version = IpVersion::from(denial.peers);
    let key = (version, table_of(of, version)?);
    let tables = &mut router.own_mut::<Control>().tables;
    match denial.rule {
        Some(rule) => tables.add_deny(key, &denial.peers, rule)?,
        None => {
            tables.remove_deny(key, &denial.peers);
        }
    }
    Ok(())
}

/// Changes the source deny list of a namespace's routing table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn deny(router: &mut Router, namespace: u32, denial: Denial) -> Result<(), Error> {
    check_denials(router, namespace, std::slice::from_ref(&denial))?;
    change_denial(router, namespace, denial)
}

/// Adds or removes a learned deny rule for a peer in a routing table; returns whether anything
/// changed. Configured rules are not changed.
///
/// # Errors
/// [`Error`].
pub fn deny_learned(
    router: &mut Router,
    table: TableIndex,
    peers: Prefix,
    rule: Option<SdlRule>,
) -> Result<bool, Error> {
    check_sdl(router)?;
    let key = (IpVersion::from(peers), table);
    let tables = &mut router.own_mut::<Control>().tables;
    let known = tables.deny(key).and_then(|list| list.get(&peers));
    if known.is_some_and(|rule| !rule.is_learned) || known.is_none() && rule.is_none() {
        return Ok(false);
    }
    match rule {
        Some(rule) => tables.add_deny(key, &peers, SdlRule { is_learned: true, ..rule })?,
        None => {
            tables.remove_deny(key, &peers);
        }
    }
    Ok(true)
}

/// A row of the deny lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdlRow {
    /// Routing table.
    pub table: (IpVersion, TableIndex),
    /// Peers.
    pub peers: Prefix,
    /// The rule.
    pub rule: SdlRule,
    /// Namespaces that use the table, ascending.
    pub namespaces: Vec<u32>,
}

/// The deny rule that a peer matches in a routing table.
pub fn denied(router: &Router, table: TableIndex, peer: std::net::IpAddr) -> Option<SdlRow> {
    let key = (IpVersion::from(peer), table);
    let global = router.own::<Control>().tables.global.get(&key)?;
    let (peers, rule) = global.deny.as_ref()?.meets(peer)?;
    let namespaces = global.namespaces.iter().copied().collect();
    Some(SdlRow { table: key, peers, rule: rule.clone(), namespaces })
}

/// Iterator over the rows of all deny lists, for listing in slices.
#[derive(Default)]
pub struct SdlRows {
    at: Option<((IpVersion, TableIndex), Option<Prefix>)>,
    rows: std::collections::VecDeque<SdlRow>,
}

impl SdlRows {
    /// The next row.
    pub fn next(&mut self, router: &Router) -> Option<SdlRow> {
        if self.rows.is_empty() && self.at.is_none_or(|(_, last)| last.is_some()) {
            self.fill(router);
        }
        self.rows.pop_front()
    }
    fn fill(&mut self, router: &Router) {
        let tables = &router.own::<Control>().tables.global;
        let first = self.at.map_or((IpVersion::V4, TableIndex::default()), |(key, _)| key);
        for (key, global) in tables.range(first..) {
            let Some(list) = &global.deny else { continue };
            let after = self.at.and_then(|(at, last)| last.filter(|_| at == *key));
            let namespaces: Vec<u32> = global.namespaces.iter().copied().collect();
            let found = list.behind(after.as_ref(), SLICE).into_iter();
            self.rows.extend(found.map(|(peers, rule)| {
                let (rule, namespaces) = (rule.clone(), namespaces.clone());
                SdlRow { table: *key, peers, rule, namespaces }
            }));
            if let Some(last) = self.rows.back() {
                self.at = Some((*key, Some(last.peers)));
                return;
            }
        }
        self.at = Some((first, None));
    }
}
