//! Operations on the addresses of bridge domains.

use std::cell::Cell;

use infra::table::exact::{Change, Verdict};
use infra::table::tally::Tally;
use net::prelude::*;

use super::domain::Error;
use super::fib::{self, Entry};
use super::state::{Bridging, publish_domain, publish_port};

/// Entries that count no longer, and are taken out in slices: see [`super::scan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// All of the domain at a place.
    Domain(u16),
    /// All on an interface.
    Port(InterfaceIndex),
    /// Addresses of the virtual interface of the domain at a place.
    Bvi(u16),
}

impl Gone {
    /// Whether an entry is one of them.
    pub fn has(self, key: u64, entry: Entry) -> bool {
        match self {
            Self::Domain(index) => fib::of_key(key).0 == index,
            Self::Port(i) => entry.interface() == i.0 && !entry.has(fib::FILTER),
            Self::Bvi(index) => fib::of_key(key).0 == index && entry.has(fib::BVI),
        }
    }
}

/// Removes entries soon.
pub(crate) fn forget(router: &mut Router, gone: Gone) {
    router.own_mut::<Bridging>().scan.gone.push(gone);
    super::scan::soon(router);
}

/// Takes out at once what would count again, as a domain or an interface comes back.
pub(crate) fn finish(router: &mut Router, is_back: impl Fn(Gone) -> bool) {
    let scan = &mut router.own_mut::<Bridging>().scan;
    if scan.gone.iter().any(|gone| is_back(*gone)) {
        scan.taken = 0;
        let all = std::mem::take(&mut scan.gone);
        sweep(router, |key, entry| all.iter().any(|gone| gone.has(key, entry)));
    }
}

/// Takes out the entries that `is_it` says, at once.
pub(crate) fn sweep(router: &mut Router, mut is_it: impl FnMut(u64, Entry) -> bool) {
    let bridging = router.own_mut::<Bridging>();
    while bridging.fib.is_growing() && bridging.fib.go_on_growing(usize::MAX / 2) {
        std::thread::yield_now();
    }
    let (learned, buckets) = (bridging.learned.clone(), bridging.fib.buckets());
    bridging.fib.walk(0, buckets, |key, value| {
        let entry = Entry(value);
        if !is_it(key, entry) {
            return Verdict::Keep;
        }
        forgotten(&learned, key, entry);
        Verdict::Remove
    });
}

/// Counts an entry that goes.
pub(crate) fn forgotten(learned: &Tally, key: u64, entry: Entry) {
    if !entry.has(fib::STATIC) {
        learned.add(0, -1);
        learned.add(fib::of_key(key).0.into(), -1);
    }
}

/// Puts in an entry that is set; an entry that was learned gives way. False when there is no room.
pub(crate) fn set_entry(router: &mut Router, domain: u16, mac: MacAddr, entry: Entry) -> bool {
    let (bridging, key) = (router.own_mut::<Bridging>(), fib::key_of(domain, mac));
    let learned = bridging.learned.clone();
    if bridging.fib.is_crowded() && bridging.fib.grow().is_ok() {
        super::scan::wake(router);
    }
    let bridging = router.own_mut::<Bridging>();
    let before = Cell::new(0);
    let done = bridging.fib.change(key, |old| {
        before.set(old);
        Change::Set(entry.0)
    });
    if done.is_err() {
        return false;
    }
    if before.get() != 0 {
        forgotten(&learned, key, Entry(before.get()));
    }
    if !entry.has(fib::STATIC) {
        learned.add(0, 1);
        learned.add(domain.into(), 1);
    }
    true
}

/// The target of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Frames for it and from it are dropped.
    Filter,
    /// On an interface: static, or as if learned.
    On(InterfaceIndex, bool),
    /// The router's own, on the domain's virtual interface.
    Bvi(InterfaceIndex),
}

/// Sets an address in a domain.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_mac(router: &mut Router, id: u32, mac: MacAddr, to: Target) -> Result<(), Error> {
    let bridging = router.own::<Bridging>();
    let index = bridging.domains.get(&id).ok_or(Error::NoDomain)?.index;
    let on = |i: InterfaceIndex| {
        router.interfaces.at(i).ok_or(Error::NoInterface)?;
        let port = bridging.domain_of(i).filter(|(domain, ..)| *domain == id);
        port.map(|_| i).ok_or(Error::NotMember)
    };
    let entry = match to {
        _ if mac.is_multicast() => return Err(Error::Mac),
        Target::Filter => Entry::fixed(u32::MAX, fib::STATIC | fib::FILTER),
        Target::On(i, true) => Entry::fixed(on(i)?.0, fib::STATIC),
        Target::Bvi(i) => Entry::fixed(on(i)?.0, fib::STATIC | fib::BVI),
        Target::On(i, false) => {
            let sequence = [bridging.domain_sequence(index), bridging.port_sequence(on(i)?)];
            Entry::learned(i.0, u16::from_be_bytes(sequence), fib::minute(router.now()))
        }
    };
    let key = fib::key_of(index, mac);
    finish(router, |gone| gone.has(key, entry));
    if set_entry(router, index, mac, entry) { Ok(()) } else { Err(Error::Full) }
}

/// Takes an address out of a domain.
///
/// # Errors
/// [`Error`].
pub fn remove_mac(router: &mut Router, id: u32, mac: MacAddr) -> Result<(), Error> {
    let bridging = router.own_mut::<Bridging>();
    let index = bridging.domains.get(&id).ok_or(Error::NoDomain)?.index;
    let (key, learned) = (fib::key_of(index, mac), bridging.learned.clone());
    let was_there = Cell::new(false);
    let done = bridging.fib.change(key, |old| {
        was_there.set(old != 0);
        if old != 0 {
            forgotten(&learned, key, Entry(old));
        }
        Change::Remove
    });
    if done.is_ok() && was_there.get() { Ok(()) } else { Err(Error::NoEntry) }
}

/// The scope of a flush of learned addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// All.
    All,
    /// Addresses of a domain.
    Domain(u32),
    /// Addresses of an interface.
    Port(InterfaceIndex),
}

/// Invalidates learned addresses, from the next frame on.
///
/// # Errors
/// [`Error`].
pub fn flush(router: &mut Router, what: Flush) -> Result<(), Error> {
    let known = |i: InterfaceIndex| router.interfaces.at(i).ok_or(Error::NoInterface);
    if let Flush::Port(i) = what {
        known(i)?;
    }
    let bridging = router.own_mut::<Bridging>();
    let ids: Vec<u32> = match what {
        Flush::All => bridging.domains.keys().copied().collect(),
        Flush::Domain(id) if bridging.domains.contains_key(&id) => vec![id],
        Flush::Domain(_) => return Err(Error::NoDomain),
        Flush::Port(i) => {
            bridging.flush_port(i);
            publish_port(router, i);
            Vec::new()
        }
    };
    for id in ids {
        let bridging = router.own_mut::<Bridging>();
        let index = bridging.domains.get(&id).map(|d| d.index);
        index.into_iter().for_each(|index| bridging.flush_domain(index));
        publish_domain(router, id);
    }
    super::scan::soon(router);
    Ok(())
}
