//! Settings of interfaces that switch nodes on arcs on: a feature declares what it keeps for an
//! interface and where it acts; the rest follows the interface.

use std::io;

use control::feature::Refusal;
use graph::arc::FeatureArc;
use infra::rcu::{SharedSlab, SlabReader};

use super::{Change, InterfaceIndex, MAX_INTERFACES};
use crate::router::Router;

/// A node on an arc, and for which settings it is on.
pub struct AttachedAt<T> {
    /// The arc.
    pub arc: &'static FeatureArc,
    /// Node name.
    pub node: &'static str,
    /// Whether the node is to see the packets of an interface with this setting.
    pub is_on: fn(&T) -> bool,
}

/// A setting of each interface, and the nodes that act on it.
struct Attached<T: Setting> {
    /// By the number of the interface; none for the default.
    settings: SharedSlab<T>,
    places: Vec<AttachedAt<T>>,
}

/// A setting of interfaces. The default is that of an interface for which nothing is set.
pub trait Setting: Clone + Default + PartialEq + Send + Sync + 'static {}
impl<T: Clone + Default + PartialEq + Send + Sync + 'static> Setting for T {}

/// no such interface
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
#[retval(INVALID_SW_IF_INDEX)]
pub struct NoInterface;

impl Router {
    /// Declares a setting, before the nodes that read it are created: gives them their reader,
    /// where an interface without the setting has none. Settings are distinguished by their type.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space; a setting of this type is declared already.
    pub fn attach<T: Setting>(&mut self) -> io::Result<SlabReader<T>> {
        if self.state::<Attached<T>>().is_some() {
            let text = format!("interfaces already have a setting {}", std::any::type_name::<T>());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let settings = SharedSlab::new(MAX_INTERFACES)?;
        let reader = settings.reader();
        self.insert(Attached::<T> { settings, places: Vec::new() });
        self.uses.push(|router| {
            let (on, _) = router.settings::<T>().next()?;
            Some(format!("{} is configured", router.interfaces.name(on.0)))
        });
        self.interfaces.observe(|router, interface, change| {
            if change == Change::Deleting {
                let done = router.put::<T>(interface, T::default());
                done.expect("an interface that is being deleted is still there");
            }
        });
        Ok(reader)
    }
    /// Says where a setting acts; the nodes are in the graph already.
    pub fn attach_at<T: Setting, const N: usize>(&mut self, places: [AttachedAt<T>; N]) {
        if let Some(attached) = self.state_mut::<Attached<T>>() {
            attached.places.extend(places);
        }
    }
    /// The setting of an interface.
    pub fn setting<T: Setting>(&self, interface: InterfaceIndex) -> T {
        let attached = self.state::<Attached<T>>();
        attached.and_then(|a| a.settings.at(interface.0)).cloned().unwrap_or_default()
    }
    /// The interfaces for which something is set, with what it is.
    pub fn settings<T: Setting>(&self) -> impl Iterator<Item = (InterfaceIndex, &T)> {
        let all = self.state::<Attached<T>>().into_iter().flat_map(|a| a.settings.iter());
        all.map(|(number, setting)| (InterfaceIndex(number), setting))
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
        let old = self.setting::<T>(interface);
        let Some(attached) = self.state_mut::<Attached<T>>() else { return Ok(()) };
        if old == new {
            return Ok(());
        }
        let switched: Vec<_> = attached
            .places
            .iter()
            .map(|place| (place.arc, place.node, (place.is_on)(&old), (place.is_on)(&new)))
            .filter(|(_, _, was, is)| was != is)
            .collect();
        attached.settings.put(interface.0, (new != T::default()).then_some(new));
        for (arc, node, _, is_on) in switched {
            let done = self.engine.set_feature(arc, node, interface.0, is_on);
            done.expect("the node is on the arc since the setting was attached there");
        }
        Ok(())
    }
}
