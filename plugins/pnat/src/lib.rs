//! PNAT: IPv4 packets are matched by some of their addresses, protocol and ports, and rewritten as
//! a binding says, without state. All bindings at one end of an interface match the same fields, so
//! that a packet is one lookup.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod packet;
mod tuple;

use net::ip4::IP4_OUTPUT;
use net::prelude::*;

pub use api::*;
pub use tuple::{Binding, Key, Mask, Match, Rewrite};

/// Bindings at most.
const MOST: usize = 1 << 16;

/// PNAT.
pub const FEATURE: Feature = Feature {
    name: "pnat",
    about: "Policy 1:1 NAT",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// An end of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Received packets.
    Input,
    /// Sent packets.
    Output,
}

/// The bindings at one end of an interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    /// Fields that are matched.
    pub mask: Mask,
    /// Bindings by what packets have in these fields.
    pub flows: HashMap<Key, u32>,
}

/// The setting of an interface: its ends.
pub type Ends = [Attached; 2];

/// All bindings.
struct Bindings(SharedSlab<Binding>);

/// Reasons why something cannot be set. Clients know them by numbers whose names mean other things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no binding {0}
    #[retval(UNSPECIFIED)]
    NoBinding(u32),
    /// the bindings there match other fields
    #[retval(INVALID_SW_IF_INDEX)]
    OtherFields,
    /// a binding there matches the same packets
    #[retval(NO_SUCH_FIB)]
    Exists,
    /// the binding is not attached there
    #[retval(INVALID_SW_IF_INDEX)]
    NotAttached,
    /// no field to match, or none to rewrite
    #[retval(UNSPECIFIED)]
    NoFields,
    /// only TCP and UDP have ports
    #[retval(INVALID_SW_IF_INDEX)]
    NoPorts,
    /// {0}
    #[retval(INVALID_VALUE)]
    Unfit(&'static str),
    /// at most {MOST} bindings
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// Makes a binding; returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, binding: Binding) -> Result<u32, Error> {
    binding.check()?;
    router.own_mut::<Bindings>().0.insert(binding).map_err(|_| Error::Full)
}

/// Deletes a binding, after detaching it from all interfaces.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(router: &mut Router, number: u32) -> Result<(), Error> {
    at(router, number)?;
    let attached: Vec<_> = attachments(router).filter(|(.., n)| *n == number).collect();
    for (interface, end, _) in attached {
        detach(router, interface, end, number)?;
    }
    router.own_mut::<Bindings>().0.remove(number);
    Ok(())
}

/// A binding.
///
/// # Errors
/// [`Error::NoBinding`].
pub fn at(router: &Router, number: u32) -> Result<&Binding, Error> {
    router.own::<Bindings>().0.at(number).ok_or(Error::NoBinding(number))
}

/// All bindings, by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Binding)> {
    router.own::<Bindings>().0.iter()
}

/// Interfaces, their ends and the bindings attached there.
pub fn attachments(router: &Router) -> impl Iterator<Item = (InterfaceIndex, End, u32)> {
    router.settings::<Ends>().flat_map(|(interface, ends)| {
        [End::Input, End::Output].into_iter().flat_map(move |end| {
            let mut numbers: Vec<u32> = ends[end as usize].flows.values().copied().collect();
            numbers.sort_unstable();
            numbers.into_iter().map(move |number| (interface, end, number))
        })
    })
}

/// Rewrites packets at an end of an interface by a binding.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn attach(
    router: &mut Router,
    interface: InterfaceIndex,
    end: End,
    number: u32,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let matched = at(router, number)?.matched;
    let mut ends = router.setting::<Ends>(interface);
    let attached = &mut ends[end as usize];
    if !attached.flows.is_empty() && attached.mask != matched.mask {
        return Err(Error::OtherFields);
    }
    attached.mask = matched.mask;
    if attached.flows.contains_key(&matched.key()) {
        return Err(Error::Exists);
    }
    attached.flows.insert(matched.key(), number);
    change(router, interface, ends)
}

/// Rewrites packets at an end of an interface by a binding no longer.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn detach(
    router: &mut Router,
    interface: InterfaceIndex,
    end: End,
    number: u32,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let key = at(router, number)?.matched.key();
    let mut ends = router.setting::<Ends>(interface);
    let attached = &mut ends[end as usize];
    if attached.flows.get(&key) != Some(&number) {
        return Err(Error::NotAttached);
    }
    attached.flows.remove(&key);
    if attached.flows.is_empty() {
        *attached = Attached::default();
    }
    change(router, interface, ends)
}

/// Sets what is attached; ports of fragments are known where ports are matched.
fn change(router: &mut Router, interface: InterfaceIndex, new: Ends) -> Result<(), Error> {
    let old = router.setting::<Ends>(interface);
    let [needed, needs] = [&old, &new].map(|ends| ends[0].mask.has_ports());
    router.put(interface, new)?;
    if needed != needs {
        let done = router.need_fragment_ports(interface, 0, needs);
        done.map_err(|_| Error::NoInterface)?;
    }
    Ok(())
}

/// Detaches all from an interface that goes.
fn follow(router: &mut Router, interface: InterfaceIndex, what: Change) {
    if what == Change::Deleting {
        change(router, interface, Ends::default()).expect("it is still there");
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let bindings = SharedSlab::new(MOST).map_err(refuse)?;
    // Before the setting forgets it.
    router.interfaces.observe(follow);
    let ends = router.attach::<Ends>().map_err(refuse)?;
    node::add(router, &ends, &bindings.reader()).map_err(refuse)?;
    router.attach_at::<Ends, _>([
        AttachedAt { arc: &IP4_UNICAST, node: node::NAMES[0], is_on: |e| !e[0].flows.is_empty() },
        AttachedAt { arc: &IP4_OUTPUT, node: node::NAMES[1], is_on: |e| !e[1].flows.is_empty() },
    ]);
    router.insert(Bindings(bindings));
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
