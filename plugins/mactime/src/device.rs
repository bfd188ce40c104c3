//! Devices: what is declared, and what holds now.

use control::stats::Columns;
use infra::counter::Rows;
use net::prelude::*;

use super::week::{Range, time_of_week};
use super::{Error, PROCESS};

/// Devices at most.
pub const MOST_DEVICES: usize = 4096;
/// Ranges of a device at most.
const MOST_RANGES: usize = 64;
/// Letters of a name at most.
const MOST_LETTERS: usize = 63;

/// Columns of counters by device.
pub(super) const COLUMNS: Columns = Columns::growing("mactime device", MOST_DEVICES);

/// Declaration of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Name.
    pub name: String,
    /// Whether it is dropped, else allowed: always, or in its ranges only.
    pub drops: bool,
    /// Times of the week; none for always.
    pub ranges: Vec<Range>,
    /// Bytes that it may have in a range in which it is allowed.
    pub quota: Option<u64>,
    /// Whether its UDP to port 10001 is dropped.
    pub no_udp_10001: bool,
}

impl Terms {
    fn check(&self) -> Result<(), Error> {
        let is_word = |c: char| c.is_ascii_graphic();
        if !(1..=MOST_LETTERS).contains(&self.name.len()) || !self.name.chars().all(is_word) {
            return Err(Error::BadName);
        }
        if self.ranges.len() > MOST_RANGES {
            return Err(Error::TooManyRanges);
        }
        if !self.ranges.iter().all(Range::is_valid) {
            return Err(Error::BadRange);
        }
        if self.quota.is_some() && (self.drops || self.ranges.is_empty()) {
            return Err(Error::BadQuota);
        }
        Ok(())
    }
    fn is_in_range(&self, time: f64) -> bool {
        self.ranges.iter().any(|range| range.has(time))
    }
}

/// Treatment of a device's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They pass.
    Allow,
    /// They never pass.
    DropStatic,
    /// They do not pass now.
    DropRange,
    /// They pass until so many bytes have passed in all.
    AllowUpTo(u64),
}

/// A device as nodes have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Treatment of its packets.
    pub verdict: Verdict,
    /// Whether its UDP to port 10001 is dropped.
    pub no_udp_10001: bool,
    /// Its column of counters.
    pub column: u32,
}

/// Devices as nodes have them, by MAC address.
pub type Table = HashMap<MacAddr, Rule>;

/// Counters by device.
#[derive(Clone)]
pub struct Counters {
    /// Traffic.
    pub allowed: Rows<VolumeCounter>,
    /// Dropped packets.
    pub dropped: Rows<VolumeCounter>,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its declaration.
    pub terms: Terms,
    /// Its column of counters.
    pub column: u32,
    /// Whether it is in a range.
    pub is_in_range: bool,
    /// Bytes that had passed when the range began.
    base: u64,
}

/// Control's state.
pub(super) struct Devices {
    pub all: BTreeMap<MacAddr, Device>,
    /// How often something was declared.
    pub epoch: u32,
    pub counters: Counters,
    table: Shared<Table>,
    /// Hours from UTC.
    hours: f64,
}

impl Devices {
    pub fn new(table: Shared<Table>, counters: Counters, hours: f64) -> Self {
        Self { all: BTreeMap::new(), epoch: 1, counters, table, hours }
    }
    /// Bytes that have passed since its range began, or at all.
    pub fn used(&self, device: &Device) -> u64 {
        self.counters.allowed.sum(device.column as usize).bytes.saturating_sub(device.base)
    }
    /// Publishes the treatments at a time of the week to nodes.
    fn publish(&mut self, time: f64) {
        let mut table = Table::with_capacity(self.all.len());
        for (mac, device) in &mut self.all {
            let was_in_range = device.is_in_range;
            device.is_in_range = device.terms.is_in_range(time);
            if device.is_in_range && !was_in_range {
                device.base = self.counters.allowed.sum(device.column as usize).bytes;
            }
            let verdict = verdict(&device.terms, device.is_in_range, device.base);
            let (column, no_udp_10001) = (device.column, device.terms.no_udp_10001);
            table.insert(*mac, Rule { verdict, no_udp_10001, column });
        }
        if *self.table.current() != table {
            self.table.publish(table);
        }
    }
}

/// The treatment of a device inside or outside its ranges.
fn verdict(terms: &Terms, is_in_range: bool, base: u64) -> Verdict {
    match (terms.ranges.is_empty(), terms.drops) {
        (true, true) => Verdict::DropStatic,
        (true, false) => Verdict::Allow,
        (false, drops) if drops == is_in_range => Verdict::DropRange,
        (false, _) => match terms.quota.filter(|_| is_in_range) {
            Some(quota) => Verdict::AllowUpTo(base.saturating_add(quota)),
            None => Verdict::Allow,
        },
    }
}

/// Looks at the time; whether some device has a range.
pub(super) fn judge(router: &mut Router) -> bool {
    let devices = router.own_mut::<Devices>();
    devices.publish(time_of_week(control::wall::now(), devices.hours));
    devices.all.values().any(|device| !device.terms.ranges.is_empty())
}

/// Declares a device, instead of what was declared of it.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put(router: &mut Router, mac: MacAddr, terms: Terms) -> Result<(), Error> {
    terms.check()?;
    if mac == MacAddr::ZERO || mac.is_broadcast() {
        return Err(Error::BadAddress);
    }
    let devices = router.own_mut::<Devices>();
    let column = match devices.all.get(&mac) {
        Some(known) => known.column,
        None => {
            let used: std::collections::BTreeSet<_> =
                devices.all.values().map(|device| device.column).collect();
            let free = (0..MOST_DEVICES as u32).find(|column| !used.contains(column));
            free.ok_or(Error::TooManyDevices)?
        }
    };
    let is_new = !devices.all.contains_key(&mac);
    devices.all.insert(mac, Device { terms, column, is_in_range: false, base: 0 });
    devices.epoch = devices.epoch.wrapping_add(1);
    if is_new {
        // Without room for a column there is nothing to see.
        let _ = router.stats.grow(COLUMNS, column as usize + 1);
        zero(router, column as usize..column as usize + 1);
    }
    judge(router);
    router.processes.signal(PROCESS, 0);
    Ok(())
}

/// Takes a device away.
///
/// # Errors
/// [`Error::NoDevice`].
pub fn remove(router: &mut Router, mac: MacAddr) -> Result<(), Error> {
    let devices = router.own_mut::<Devices>();
    devices.all.remove(&mac).ok_or(Error::NoDevice)?;
    devices.epoch = devices.epoch.wrapping_add(1);
    judge(router);
    Ok(())
}

/// Sets counters of devices to zero.
fn zero(router: &mut Router, columns: std::ops::Range<usize>) {
    let counters = router.own::<Devices>().counters.clone();
    let _ = router.engine.on_threads(move |thread| {
        for rows in [&counters.allowed, &counters.dropped] {
            if thread < rows.threads() {
                rows.zero(thread, columns.clone());
            }
        }
    });
}

/// Clears the counters of all devices; quotas restart.
pub(super) fn clear(router: &mut Router) {
    let end = router.own::<Devices>().all.values().map(|d| d.column as usize + 1).max();
    zero(router, 0..end.unwrap_or(0));
    for device in router.own_mut::<Devices>().all.values_mut() {
        (device.base, device.is_in_range) = (0, false);
    }
    judge(router);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_when_a_device_passes_or_when_it_does_not() {
        let day = Range { start: 100.0, end: 200.0 };
        let terms = |drops, ranges, quota| Terms {
            name: "a".to_owned(),
            drops,
            ranges,
            quota,
            no_udp_10001: false,
        };
        assert_eq!(verdict(&terms(false, vec![], None), false, 0), Verdict::Allow);
        assert_eq!(verdict(&terms(true, vec![], None), false, 0), Verdict::DropStatic);
        let (allowed, dropped) = (terms(false, vec![day], Some(7)), terms(true, vec![day], None));
        assert_eq!(verdict(&allowed, true, 30), Verdict::AllowUpTo(37));
        assert_eq!(verdict(&allowed, false, 30), Verdict::DropRange);
        assert_eq!(verdict(&dropped, true, 0), Verdict::DropRange);
        assert_eq!(verdict(&dropped, false, 0), Verdict::Allow);
    }
}
