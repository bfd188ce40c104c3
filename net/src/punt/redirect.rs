//! `ip4-punt-redirect`, `ip6-punt-redirect`: punted packets go to a neighbor.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::feature::Refusal;
use graph::{BuildError, Flags, Frame, Names, Node, Record};
use infra::rcu::{Reader, Shared};

use crate::adjacency::{self, AdjacencyIndex, Role};
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6, Version};
use crate::router::Router;

/// A version whose punted packets are redirected.
pub trait Redirecting: Version {
    /// Node name.
    const REDIRECT: &'static str;
    /// Reasons for drops.
    type NoRedirect: graph::Reason;
    /// No redirect holds for the interface.
    const NO_REDIRECT: Self::NoRedirect;
    /// No address in particular.
    const UNSPECIFIED: IpAddr;
}

impl Redirecting for V4 {
    const REDIRECT: &'static str = "ip4-punt-redirect";
    type NoRedirect = Error4;
    const NO_REDIRECT: Error4 = Error4::NoRedirect;
    const UNSPECIFIED: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
}

impl Redirecting for V6 {
    const REDIRECT: &'static str = "ip6-punt-redirect";
    type NoRedirect = Error6;
    const NO_REDIRECT: Error6 = Error6::NoRedirect;
    const UNSPECIFIED: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
}

/// Drops of the node of IPv4.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error4 {
    /// no redirect for the interface.
    #[name("ip4 punt redirect drop")]
    NoRedirect,
}

/// Drops of the node of IPv6.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error6 {
    /// no redirect for the interface.
    #[name("ip6 punt redirect drop")]
    NoRedirect,
}

/// Adjacencies by receive interface; `Some(None)` where a redirect leads nowhere.
#[derive(Clone, Default)]
struct Table {
    /// For interfaces that are not named.
    any: Option<Option<u32>>,
    by_interface: Vec<Option<Option<u32>>>,
}

/// The target of an interface's punted packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedirectTo {
    /// The interface it leaves by.
    pub tx: InterfaceIndex,
    /// The neighbour there; unspecified for each packet's destination.
    pub next_hop: IpAddr,
}

/// Receive interface; `None` for all interfaces that are not named.
type From = Option<InterfaceIndex>;

/// The state of control for one version.
struct Redirects<V> {
    table: Shared<Table>,
    list: BTreeMap<From, Option<(RedirectTo, AdjacencyIndex)>>,
    version: PhantomData<V>,
}

/// Sends punted packets to a neighbour.
#[derive(Clone)]
pub struct Redirect<V> {
    version: V,
    table: Reader<Table>,
}

/// Edges of [`Redirect`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// Over the adjacency.
    #[to(V::NODES.rewrite)]
    Rewrite(V),
}

impl<V: Redirecting> Node for Redirect<V> {
    const NAME: &'static str = V::REDIRECT;
    const EXPLAINABLE: bool = true;
    type Next = Next<V>;
    type Error = V::NoRedirect;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let table = self.table.read(frame.epoch());
        frame.each(|p| {
            let named = table.by_interface.get(p.rx() as usize).copied().flatten();
            let to = named.or(table.any).flatten();
            p.trace(|_| Redirected(to));
            p.set_adjacency(to.ok_or(V::NO_REDIRECT)?);
            // It was for this router: it is handed on as it came, not forwarded.
            p.add_flags(Flags::LOCAL);
            Ok(Next::Rewrite(self.version))
        });
    }
}

/// The trace record of the node.
struct Redirected(Option<u32>);

impl Record for Redirected {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(adjacency) => write!(f, "  via redirect: adj {adjacency}"),
            None => write!(f, "  via redirect: none"),
        }
    }
}

/// Reasons why a redirect cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum RedirectError {
    /// no such receive interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoRx,
    /// no such transmit interface
    #[retval(INVALID_SW_IF_INDEX_2)]
    NoTx,
    /// the next hop is of the other IP version
    #[retval(INVALID_ADDRESS_FAMILY)]
    OtherVersion,
    /// no such redirect
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// {0}
    #[retval(UNSPECIFIED)]
    Adjacency(adjacency::Error),
}

impl Router {
    /// The targets of punted packets, by receive interface (`None`: all not named).
    pub fn punt_redirects<V: Redirecting>(
        &self,
    ) -> impl Iterator<Item = (Option<InterfaceIndex>, Option<RedirectTo>)> {
        let all = self.state::<Redirects<V>>().into_iter().flat_map(|r| r.list.iter());
        all.map(|(from, to)| (*from, to.map(|(to, _)| to)))
    }
    /// Sets where punted packets of an interface (`None`: of all not named) go; nowhere for `None`.
    ///
    /// # Errors
    /// [`RedirectError`]; nothing has changed then.
    pub fn set_punt_redirect<V: Redirecting>(
        &mut self,
        from: Option<InterfaceIndex>,
        to: Option<RedirectTo>,
    ) -> Result<(), RedirectError> {
        if from.is_some_and(|i| self.interfaces.at(i).is_none()) {
            return Err(RedirectError::NoRx);
        }
        let new = match to {
            Some(to) => Some((to, use_way::<V>(self, to)?)),
            None => None,
        };
        let redirects = self.own_mut::<Redirects<V>>();
        let old = redirects.list.insert(from, new).flatten();
        self.follow_redirects::<V>(old);
        Ok(())
    }
    /// Takes it back.
    ///
    /// # Errors
    /// [`RedirectError::Unknown`].
    pub fn remove_punt_redirect<V: Redirecting>(
        &mut self,
        from: Option<InterfaceIndex>,
    ) -> Result<(), RedirectError> {
        let redirects = self.own_mut::<Redirects<V>>();
        let old = redirects.list.remove(&from).ok_or(RedirectError::Unknown)?;
        self.follow_redirects::<V>(old);
        Ok(())
    }
    /// Shows nodes the current redirects, and releases a deleted one.
    fn follow_redirects<V: Redirecting>(&mut self, gone: Option<(RedirectTo, AdjacencyIndex)>) {
        let redirects = self.own_mut::<Redirects<V>>();
        let mut table = Table::default();
        for (from, to) in &redirects.list {
            let adjacency = Some(to.map(|(_, adjacency)| adjacency.0));
            let Some(InterfaceIndex(i)) = from else {
                table.any = adjacency;
                continue;
            };
            let at = *i as usize;
            table.by_interface.resize(table.by_interface.len().max(at + 1), None);
            table.by_interface[at] = adjacency;
        }
        let is_used = !redirects.list.is_empty();
        redirects.table.publish(table);
        if let Some((_, adjacency)) = gone {
            self.release_adjacency(adjacency);
        }
        self.set_feature_everywhere(V::PUNT_ARC, V::REDIRECT, is_used);
    }
}

/// Uses the adjacency that leads there.
pub(super) fn use_way<V: Redirecting>(
    router: &mut Router,
    RedirectTo { tx, next_hop }: RedirectTo,
) -> Result<AdjacencyIndex, RedirectError> {
    if next_hop.is_ipv4() != V::UNSPECIFIED.is_ipv4() {
        return Err(RedirectError::OtherVersion);
    }
    if router.interfaces.at(tx).is_none() {
        return Err(RedirectError::NoTx);
    }
    let role = if next_hop.is_unspecified() { Role::Glean } else { Role::Neighbor };
    router.use_adjacency(tx, role, next_hop).map_err(RedirectError::Adjacency)
}

/// Forgets redirects of a deleted interface.
pub(super) fn forget<V: Redirecting>(router: &mut Router, interface: InterfaceIndex) {
    let leads_there = |to: Option<RedirectTo>| to.is_some_and(|to| to.tx == interface);
    let all = router.punt_redirects::<V>();
    let gone = all.filter(|(from, to)| *from == Some(interface) || leads_there(*to));
    for from in gone.map(|(from, _)| from).collect::<Vec<_>>() {
        router.remove_punt_redirect::<V>(from).expect("it was there just now");
    }
}

pub(super) fn add<V: Redirecting>(router: &mut Router) -> Result<(), BuildError> {
    let table = Shared::new(Table::default());
    let node = Redirect { version: V::SELF, table: table.reader() };
    router.engine.add_feature(V::PUNT_ARC, node)?;
    router.insert(Redirects::<V> { table, list: BTreeMap::new(), version: PhantomData });
    Ok(())
}
