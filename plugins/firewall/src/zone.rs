//! Zones: groups of interfaces, and the router itself.

use std::collections::BTreeMap;

use super::Error;
use super::object::Name;

/// Zones at most, `local` among them.
pub const MOST_ZONES: usize = 63;
/// The name of the zone that is the router itself.
pub const LOCAL: &str = "local";

/// A zone as nodes know it: a number below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Zone(pub u8);

impl Zone {
    /// That of interfaces without one.
    pub const NONE: Self = Self(0);
    /// The router itself.
    pub const LOCAL: Self = Self(1);
}

/// Set in the scope of flows of echo replies: requests with the same identifier are another flow,
/// whichever the sender.
pub const REPLIES: u32 = 1 << 16;

/// Two zones, from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Source zone.
    pub from: Zone,
    /// Destination zone.
    pub to: Zone,
}

impl Pair {
    /// Both as one number, which is the scope of flows.
    #[inline(always)]
    pub fn scope(self) -> u32 {
        u32::from(self.from.0) << 8 | u32::from(self.to.0)
    }
    /// The zones of a scope.
    pub fn of_scope(scope: u32) -> Self {
        Self { from: Zone((scope >> 8) as u8), to: Zone(scope as u8) }
    }
    /// The other direction.
    #[inline(always)]
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }
    /// Its place among all pairs.
    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.from.0) << 6 | usize::from(self.to.0) & 63
    }
}

/// Settings of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether packets between interfaces of the zone pass where no policy says otherwise.
    pub permits_within: bool,
}

/// All zones but `local`, by name.
#[derive(Debug, Default)]
pub struct Zones(BTreeMap<Name, (Zone, Settings)>);

impl Zones {
    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, Zone, Settings)> {
        self.0.iter().map(|(name, (zone, settings))| (name, *zone, *settings))
    }
    /// The number of a zone.
    ///
    /// # Errors
    /// [`Error::NoZone`].
    pub fn at(&self, name: &Name) -> Result<Zone, Error> {
        if name.as_str() == LOCAL {
            return Ok(Zone::LOCAL);
        }
        self.0.get(name).map(|(zone, _)| *zone).ok_or_else(|| Error::NoZone(name.clone()))
    }
    /// The name of a zone; `none` of interfaces without one.
    pub fn name(&self, zone: Zone) -> String {
        match zone {
            Zone::NONE => "none".to_owned(),
            Zone::LOCAL => LOCAL.to_owned(),
            _ => {
                let found = self.0.iter().find(|(_, (number, _))| *number == zone);
                found.map_or_else(|| format!("zone {}", zone.0), |(name, _)| name.to_string())
            }
        }
    }
    /// Makes a zone, or changes its settings.
    pub(super) fn put(&mut self, name: &Name, settings: Settings) -> Result<Zone, Error> {
        if name.as_str() == LOCAL {
            return Err(Error::OwnZone(name.clone()));
        }
        let is_free = |number: &u8| self.0.values().all(|(zone, _)| zone.0 != *number);
        let zone = match self.0.get(name) {
            Some((zone, _)) => *zone,
            None => (2..=MOST_ZONES as u8).find(is_free).map(Zone).ok_or(Error::TooManyZones)?,
        };
        self.0.insert(name.clone(), (zone, settings));
        Ok(zone)
    }
    pub(super) fn remove(&mut self, name: &Name) {
        self.0.remove(name);
    }
}
