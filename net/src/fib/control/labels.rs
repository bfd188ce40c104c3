//! Label switching, as routing needs it: the hooks that MPLS fills.

use graph::{Buffer, Flags, Payload};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::path::{Label, Path, Pop, TableIndex, Target};
use crate::adjacency::Link;
use crate::fib::{Error, Fib, Via};
use crate::router::Router;

/// Label operations: push, pop, and lookup of labels.
pub trait LabelSwitching {
    /// The object between a path and `next`: it puts the path's labels on, or finishes packets
    /// whose label was taken off. The path holds it until [`LabelSwitching::release`]. `None` when
    /// there is no room.
    fn wrap(&self, router: &mut Router, path: &Path, next: Via) -> Option<Via>;
    /// Gives up what [`LabelSwitching::wrap`] gave.
    fn release(&self, router: &mut Router, wrap: Via);
    /// The load balance that packets with one more label under this one follow, until
    /// [`LabelSwitching::release_label`]. It is one of [`Router::follow_paths`].
    ///
    /// # Errors
    /// A missing table, no room.
    fn hold_label(&self, router: &mut Router, table: u32, label: u32) -> Result<u32, Error>;
    /// Gives up what [`LabelSwitching::hold_label`] gave.
    fn release_label(&self, router: &mut Router, table: u32, label: u32);
    /// The label table that the operator calls `id`.
    fn table(&self, router: &Router, id: u32) -> Option<TableIndex>;
    /// The identifier of a label table.
    fn table_id(&self, router: &Router, table: TableIndex) -> Option<u32>;
}

/// The kind of packets that a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteOf {
    /// Packets of a link.
    Link(Link),
    /// Packets with a label that is taken off, and what they are then.
    Label(Link),
}

impl RouteOf {
    /// Kind of a packet without its label.
    pub fn link(self) -> Link {
        let (Self::Link(link) | Self::Label(link)) = self;
        link
    }
    /// A path of such a route, its target chosen for what its packets are when they get there.
    pub fn path(
        self,
        labels: &[Label],
        has_control_word: bool,
        rpf_id: u32,
        target: impl FnOnce(Link) -> Option<Target>,
    ) -> Option<Path> {
        let pushes = labels.iter().any(|l| l.value != Label::IMPLICIT_NULL);
        let link = if pushes { Link::Mpls } else { self.link() };
        let is_uniform = labels.first().is_some_and(|l| l.is_uniform);
        let pop = match self {
            Self::Label(link) if !pushes => {
                Some(Pop { link, is_uniform, has_control_word, rpf_id })
            }
            _ => None,
        };
        let labels = Some(labels).filter(|l| !l.is_empty()).map(Into::into);
        Some(Path { labels, pop, ..Path::to(target(link)?) })
    }
}

/// Fields of the label popped from a packet with [`Flags::POPPED`], as its payload.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Popped {
    /// Interface for reverse-path checks of multicast packets; 0 for the receive interface.
    pub rpf_id: u32,
    /// Time to live.
    pub ttl: u8,
    /// Traffic class.
    pub exp: u8,
    /// 1 if it was the last of its stack.
    pub is_last: u8,
    /// Nothing.
    pub unused: u8,
}

impl Payload for Popped {
    const NAME: &'static str = "mpls-popped";
}

impl Popped {
    /// Of a packet; `None` when no label was taken off.
    #[inline(always)]
    pub fn of(p: &Buffer<'_>) -> Option<Self> {
        p.flags().has(Flags::POPPED).then(|| p.payload())
    }
}

impl Router {
    /// Registers label switching; until then paths with labels are kept and shown, but not used.
    pub fn switch_labels(&mut self, switching: std::rc::Rc<dyn LabelSwitching>) {
        self.fib.switching = Some(switching);
    }
    /// The table of a link that the operator calls `id`.
    pub fn table_of(&self, link: Link, id: u32) -> Option<TableIndex> {
        match (link, &self.fib.switching) {
            (Link::Mpls, Some(switching)) => switching.table(self, id),
            _ => self.fib.table_for(link, id),
        }
    }
    /// The identifier of a table of a link.
    pub fn table_id_of(&self, link: Link, table: TableIndex) -> Option<u32> {
        match (link, &self.fib.switching) {
            (Link::Mpls, Some(switching)) => switching.table_id(self, table),
            _ => self.fib.table_id_for(link, table),
        }
    }
    /// The load balances that the paths of a list lead to by their labels, or by objects that lie
    /// on one; 0 for other paths.
    pub(super) fn hold_labels(&mut self, paths: &[Path]) -> Result<Box<[u32]>, Error> {
        let mut held = Vec::new();
        for path in paths {
            let balance = match (path.target.label(), self.fib.switching.clone()) {
                (None, _) => Ok(match path.target {
                    Target::Object(object) => self.stack_of_object(object).unwrap_or(0),
                    _ => 0,
                }),
                (Some(_), None) => Err(Error::NoTable),
                (Some((table, label)), Some(s)) => s.hold_label(self, table, label),
            };
            match balance {
                Ok(balance) => held.push(balance),
                Err(e) => {
                    self.release_labels(&paths[..held.len()]);
                    return Err(e);
                }
            }
        }
        Ok(held.into())
    }
    /// Gives up what paths lead to by their labels.
    pub(super) fn release_labels(&mut self, paths: &[Path]) {
        let Some(switching) = self.fib.switching.clone() else { return };
        let all = paths.iter().filter_map(|p| p.target.label());
        all.for_each(|(table, label)| switching.release_label(self, table, label));
    }
    /// Puts what packets go through on their way in front of where the usable paths of a list lead.
    pub(super) fn wrap_paths(&mut self, list: u32, vias: &mut [Via]) {
        let l = self.fib.lists.at(list);
        let old = !l.wraps.is_empty();
        if !old && !l.paths.iter().any(Path::is_wrapped) {
            return;
        }
        let (paths, usable) = (l.paths.clone(), l.usable.clone());
        let Some(switching) = self.fib.switching.clone() else { return };
        let mut wraps = Vec::new();
        let all = paths.iter().zip(&usable).zip(vias);
        for ((path, _), via) in all.filter(|((path, usable), _)| **usable && path.is_wrapped()) {
            *via = switching.wrap(self, path, *via).unwrap_or(Via::Drop);
            wraps.push(*via);
        }
        let old = std::mem::replace(&mut self.fib.lists.at_mut(list).wraps, wraps);
        self.fib.unused_wraps.extend(old);
    }
    /// Frees objects to which no load balance refers.
    pub(super) fn release_wraps(&mut self) {
        let unused = std::mem::take(&mut self.fib.unused_wraps);
        let Some(switching) = self.fib.switching.clone() else { return };
        unused.into_iter().for_each(|wrap| switching.release(self, wrap));
    }
}

impl Fib {
    /// Notes which load balances the paths of a list lead to by their labels.
    pub(super) fn enter_labels(&mut self, list: u32) {
        for balance in self.lists.at(list).balances.iter().filter(|balance| **balance != 0) {
            self.behind.entry(*balance).or_default().push(list);
        }
    }
    /// Forgets them.
    pub(super) fn leave_labels(&mut self, list: u32, balances: &[u32]) {
        for balance in balances.iter().filter(|balance| **balance != 0) {
            let Some(lists) = self.behind.get_mut(balance) else { continue };
            if let Some(at) = lists.iter().position(|l| *l == list) {
                lists.swap_remove(at);
            }
            if lists.is_empty() {
                self.behind.remove(balance);
            }
        }
    }
    /// Path lists with paths that lead to load balances that follow a list.
    pub(super) fn lists_behind_labels(&self, list: u32) -> impl Iterator<Item = u32> {
        let followed = self.lists.at(list).followed.iter();
        followed.filter_map(|f| self.behind.get(&f.balance)).flatten().copied()
    }
}
