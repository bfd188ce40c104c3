//! Settings of interfaces that switch nodes on arcs on: a feature declares what it keeps for an
//! interface and where it acts; the rest follows the interface.

use graph::arc::FeatureArc;
use infra::rcu::{Reader, Shared};

use super::{Change, InterfaceIndex};
use crate::router::Router;

/// A node on an arc, and for which settings it is on.
pub struct Place<T> {
    /// The arc.
    pub arc: &'static FeatureArc,
    /// Name of the node.
    pub node: &'static str,
    /// Whether the node is to see the packets of an interface with this setting.
    pub is_on: fn(&T) -> bool,
}

/// What nodes read: the setting of each interface, by number; behind the end is the default.
pub type Settings<T> = Vec<T>;

/// What is kept for each interface, and the nodes that act on it.
struct Attached<T: Setting> {
    settings: Shared<Settings<T>>,
    places: Vec<Place<T>>,
}

/// A setting of interfaces. The default is that of an interface for which nothing is set.
pub trait Setting: Clone + Default + PartialEq + Send + Sync + 'static {}
impl<T: Clone + Default + PartialEq + Send + Sync + 'static> Setting for T {}

/// There is no interface of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoInterface;

impl Router {
    /// Declares a setting, before the nodes that read it are made: gives them their reader.
    pub fn attach<T: Setting>(&mut self) -> Reader<Settings<T>> {
        let settings = Shared::new(Settings::<T>::new());
        let reader = settings.reader();
        self.insert(Attached { settings, places: Vec::new() });
        self.interfaces.observe(|router, interface, change| {
            if change == Change::Deleting {
                let done = router.put::<T>(interface, T::default());
                done.expect("an interface that is being deleted is still there");
            }
        });
        reader
    }
    /// Says where a setting acts; the nodes are in the graph already.
    pub fn attach_at<T: Setting, const N: usize>(&mut self, places: [Place<T>; N]) {
        if let Some(attached) = self.state_mut::<Attached<T>>() {
            attached.places.extend(places);
        }
    }
    /// The setting of an interface.
    pub fn setting<T: Setting>(&self, interface: InterfaceIndex) -> T {
        let attached = self.state::<Attached<T>>();
        let found = attached.and_then(|a| a.settings.current().get(interface.0 as usize));
        found.cloned().unwrap_or_default()
    }
    /// The interfaces for which something is set, with what it is.
    pub fn settings<T: Setting>(&self) -> impl Iterator<Item = (InterfaceIndex, &T)> {
        let all = self.state::<Attached<T>>().into_iter().flat_map(|a| a.settings.current());
        let default = T::default();
        let numbered = all.enumerate().map(|(i, setting)| (InterfaceIndex(i as u32), setting));
        numbered.filter(move |(_, setting)| **setting != default)
    }
    /// Sets an interface's setting and switches the nodes that act on it on or off.
    ///
    /// # Errors
    /// [`NoInterface`].
    pub fn put<T: Setting>(
        &mut self,
        interface: InterfaceIndex,
        new: T,
    ) -> Result<(), NoInterface> {
        self.interfaces.at(interface).ok_or(NoInterface)?;
        let (at, old) = (interface.0 as usize, self.setting::<T>(interface));
        let Some(attached) = self.state_mut::<Attached<T>>() else { return Ok(()) };
        if old == new {
            return Ok(());
        }
        let mut all = attached.settings.current().clone();
        all.resize(all.len().max(at + 1), T::default());
        let switched: Vec<_> = attached
            .places
            .iter()
            .map(|place| (place.arc, place.node, (place.is_on)(&old), (place.is_on)(&new)))
            .filter(|(_, _, was, is)| was != is)
            .collect();
        all[at] = new;
        attached.settings.publish(all);
        for (arc, node, _, is_on) in switched {
            let done = self.engine.set_feature(arc, node, interface.0, is_on);
            done.expect("the node is on the arc since the setting was attached there");
        }
        Ok(())
    }
}
