//! Making pairs and taking them apart.

use control::cli::is_word;
use drivers::host::background::{Background, Opens, Pending};
use drivers::tap::{self, Opened, Parameters, Taps};
use net::fib::{Followed, Path, Source};
use net::interface;
use net::mfib::{ItfFlags, MPath, MPrefix};
use net::prelude::*;

use super::node::{Paired, Side};
use super::{Error, Pairs, settings, tell};

/// Bytes of a device's name at most.
const MOST_DEVICE: usize = 15;
/// Seconds between two checks whether a device is open.
const LOOK: f64 = 0.002;
/// Source of the route that leads packets to everybody on a link to the host. The operator's, and
/// those of features that take such packets themselves, come first.
const BROADCAST: (&str, u8) = ("linux-cp-broadcast", 0xae);
/// Groups of the link that programs of Linux listen to: routing protocols and others.
const GROUPS: [(&str, u8); 2] = [("224.0.0.0", 24), ("ff02::", 16)];

/// The device of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One that carries Ethernet frames.
    Tap,
    /// One that carries IP packets.
    Tun,
}

/// A requested pair.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The interface of the router.
    pub phy: InterfaceIndex,
    /// Device name.
    pub name: String,
    /// Its kind; what suits the interface if `None`.
    pub kind: Option<Kind>,
    /// Its namespace; the default one if empty.
    pub namespace: String,
    /// Number of the interface that leads to it; the lowest free one if `None`.
    pub id: Option<u32>,
}

/// The last that is known of a device in Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Switched on.
    pub is_up: bool,
    /// Its MTU in bytes; 0 before it is known.
    pub mtu: u32,
    /// Addresses that both it and the interface have.
    pub addresses: BTreeSet<Prefix>,
}

/// A pair.
#[derive(Debug)]
pub struct Pair {
    /// The interface of the router.
    pub phy: InterfaceIndex,
    /// Host interface.
    pub host: InterfaceIndex,
    /// Number of the device in its namespace; 0 when it is only for tests.
    pub device: u32,
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Its namespace; empty for the router's own.
    pub namespace: String,
    /// The last that is known of it.
    pub known: Device,
    /// Load balances of packets without a header of layer 2.
    followed: Vec<Followed>,
    /// Tables with routes for the groups.
    groups: [Option<TableIndex>; 2],
    /// Table with a route for the broadcast address.
    broadcast: Option<TableIndex>,
}

impl Pair {
    /// A pair of existing interfaces.
    pub fn new(phy: InterfaceIndex, host: InterfaceIndex, kind: Kind) -> Self {
        Self {
            phy,
            host,
            device: 0,
            name: String::new(),
            kind,
            namespace: String::new(),
            known: Device::default(),
            followed: Vec::new(),
            groups: [None; 2],
            broadcast: None,
        }
    }
}

fn check(router: &Router, wanted: &Wanted) -> Result<Kind, Error> {
    let phy = router.interfaces.at(wanted.phy).ok_or(Error::NoInterface)?;
    if router.setting::<Paired>(wanted.phy).side != Side::None {
        return Err(Error::Exists);
    }
    let name = wanted.name.as_str();
    if name.len() > MOST_DEVICE || !is_word(name) || name.contains('/') {
        return Err(Error::Name);
    }
    super::check_namespace(&wanted.namespace)?;
    match (wanted.kind, phy.kind) {
        (None, interface::Kind::Ethernet) => Ok(Kind::Tap),
        (None, _) => Ok(Kind::Tun),
        (Some(Kind::Tap), kind) if kind != interface::Kind::Ethernet => Err(Error::NoTap),
        (Some(kind), _) => Ok(kind),
    }
}

/// Makes a pair with a new device; `answer` gets it, or an error as `E`.
///
/// # Errors
/// [`Error`], as far as it is seen at once; nothing is made then.
pub fn begin<R, E>(
    router: &mut Router,
    mut wanted: Wanted,
    answer: fn(&Pair) -> R,
) -> Result<Pending<Result<R, E>>, E>
where
    R: 'static,
    E: From<Error> + 'static,
{
    if router.own_mut::<Pairs>().stale.remove(&wanted.phy)
        && let Some(pair) = super::of(router, wanted.phy)
    {
        return Ok(Pending::ready(Ok(answer(pair))));
    }
    if wanted.namespace.is_empty() {
        wanted.namespace.clone_from(&settings(router).namespace);
    }
    let kind = check(router, &wanted)?;
    let phy = router.interfaces.at(wanted.phy).ok_or(Error::NoInterface)?;
    if phy.is_sub() && kind == Kind::Tap && add_sub(router, &wanted)? {
        let pair = super::of(router, wanted.phy).ok_or(Error::Unknown)?;
        return Ok(Pending::ready(Ok(answer(pair))));
    }
    let (parameters, opening) = open(router, &wanted, kind)?;
    let finish = move |router: &mut Router, opened: io::Result<Result<Opened, tap::Error>>| {
        finish(router, &wanted, kind, parameters, opened)?;
        Ok(answer(super::of(router, wanted.phy).ok_or(Error::Unknown)?))
    };
    Ok(Pending::new(opening, finish))
}

/// The device's opening, with what it is made from.
type Opening = (Parameters, Background<Result<Opened, tap::Error>>);

fn open(router: &mut Router, wanted: &Wanted, kind: Kind) -> Result<Opening, Error> {
    let phy = router.interfaces.at(wanted.phy).ok_or(Error::NoInterface)?;
    let is_tun = kind == Kind::Tun;
    let mac = (!is_tun && !phy.mac.is_multicast()).then_some(phy.mac);
    let mtu = router.interfaces.mtu_of(wanted.phy, |mtu| mtu.l3);
    let mut parameters = Parameters {
        id: wanted.id,
        is_tun,
        is_part: true,
        host: tap::Host {
            name: Some(wanted.name.clone()),
            namespace: Some(wanted.namespace.clone()).filter(|name| !name.is_empty()),
            mac,
            mtu: Some(mtu).filter(|mtu| *mtu >= 68),
            is_off: true,
            ..tap::Host::default()
        },
        ..Parameters::default()
    };
    let begun = router.with(|taps: &mut Taps, router| taps.begin(router, &mut parameters));
    let opening = begun.unwrap_or(Err(tap::Error::Unknown))?;
    Ok((parameters, opening))
}

fn finish(
    router: &mut Router,
    wanted: &Wanted,
    kind: Kind,
    parameters: Parameters,
    opened: io::Result<Result<Opened, tap::Error>>,
) -> Result<(), Error> {
    let made = router.with(|taps: &mut Taps, router| taps.finish(router, parameters, opened));
    let host = made.unwrap_or(Err(tap::Error::Unknown))?;
    let tap = router.own::<Taps>().list.iter().find(|tap| tap.index == host);
    let (device, mtu) = tap.map_or((0, 0), |tap| (tap.device, tap.mtu));
    let pair = Pair {
        device,
        name: wanted.name.clone(),
        namespace: wanted.namespace.clone(),
        known: Device { mtu, ..Device::default() },
        ..Pair::new(wanted.phy, host, kind)
    };
    // The interface may have gone, or got another pair, while the device was opened.
    let added = check(router, wanted).and_then(|_| add(router, pair));
    added.inspect_err(|_| delete_tap(router, host))
}

fn delete_tap(router: &mut Router, host: InterfaceIndex) {
    let gone = router.with(|taps: &mut Taps, router| taps.delete(router, host));
    match gone {
        // A tap is being deleted just now: this one is next.
        None => {
            let delete =
                |router: &mut Router, host| delete_tap(router, InterfaceIndex(host as u32));
            router.after(0.0, delete, host.0.into());
        }
        Some(Err(e)) => router.log.class("linux-cp", "if").warn(e),
        Some(Ok(())) => (),
    }
}

/// Makes the pair of a sub-interface: its device is a VLAN of its parent's, which may be there.
/// False where the kernel has no VLANs.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add_sub(router: &mut Router, wanted: &Wanted) -> Result<bool, Error> {
    let phy = router.interfaces.at(wanted.phy).ok_or(Error::NoInterface)?;
    let (parent, sub) = (phy.sup, phy.sub.ok_or(Error::NoInterface)?);
    let parent = super::of(router, parent).ok_or(Error::NoParent)?;
    let tag = (sub.tags == 1 && sub.is_exact).then_some(sub.outer).flatten();
    let tag = (tag.ok_or(Error::Inexact)?, sub.is_dot1ad);
    let (above, host, namespace) = (parent.device, parent.host, parent.namespace.clone());
    let name = wanted.name.clone();
    let system = |e: io::Error| Error::System(format!("create {name}: {e}"));
    let device = super::with_kernel(router, &namespace, |kernel| {
        // A program in Linux may have created it first.
        let number = |links: Vec<drivers::host::netlink::Link>| {
            let found = links.into_iter().find(|link| link.name.as_deref() == Some(&*name));
            found.filter(|link| link.vlan == Some((above, tag.0, tag.1))).map(|link| link.number)
        };
        if let Some(there) = number(kernel.links()?) {
            return Ok(there);
        }
        kernel.add_vlan(&name, above, tag)?;
        number(kernel.links()?).ok_or_else(|| io::ErrorKind::NotFound.into())
    });
    let device = match device {
        Err(e) if e.kind() == io::ErrorKind::Unsupported => return Ok(false),
        other => other.map_err(system)?,
    };
    let made = format!("{}.{}", router.interfaces.name(host.0), sub.id);
    let host = match router.interfaces.named(&made) {
        Some(there) => there.index,
        None => router.add_sub_interface(host, sub).map_err(|e| Error::System(e.to_string()))?,
    };
    let pair = Pair { device, name, namespace, ..Pair::new(wanted.phy, host, Kind::Tap) };
    add(router, pair).inspect_err(|_| router.remove_interface(host))?;
    Ok(true)
}

/// Pairs two existing interfaces.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(router: &mut Router, mut pair: Pair) -> Result<(), Error> {
    let (phy, host, is_tun) = (pair.phy, pair.host, pair.kind == Kind::Tun);
    for index in [phy, host] {
        router.interfaces.at(index).ok_or(Error::NoInterface)?;
        if router.setting::<Paired>(index).side != Side::None {
            return Err(Error::Exists);
        }
    }
    let mut balances = [0; 2];
    if is_tun {
        for (balance, link) in balances.iter_mut().zip([Link::Ip4, Link::Ip6]) {
            // On Ethernet a route says who the neighbour is.
            let on = router.addresses.of(phy);
            let table = if link == Link::Ip4 { on.table4 } else { on.table6 };
            let has_one = router.interfaces.at(phy).is_some_and(net::Interface::is_point_to_point);
            let route = Target::Lookup { link, table };
            let target = if has_one { Target::attached(link, phy) } else { route };
            let followed = router.follow_paths(&[Path::to(target)], None);
            let followed = followed.map_err(|e| Error::System(e.to_string()))?;
            *balance = followed.load_balance();
            pair.followed.push(followed);
        }
    }
    let system = |e: net::address::Error| Error::System(e.to_string());
    router.enable_ip4(host, true).and_then(|()| router.enable_ip6(host, true)).map_err(system)?;
    router.start_interface(host, true, true);
    router.start_with_ip(host);
    if !is_tun {
        router.interfaces.change_port(host, |port| port.takes_all = true);
    }
    let other = |of: InterfaceIndex, side| Paired { side, other: of.0, is_tun, balances };
    router.put(phy, other(host, Side::Phy)).expect("it was found");
    router.put(host, other(phy, Side::Host)).expect("it was found");
    router.own_mut::<Pairs>().list.insert(phy, pair);
    super::punt(router);
    if let Err(e) = router.punt_broadcast(phy, true) {
        router.log.class("linux-cp", "if").warn(e);
    }
    follow_tables(router, phy);
    tell(router, phy, true);
    super::push(router, phy);
    if settings(router).has_auto_subs {
        let subs = router.interfaces.at(phy).map(|i| i.subs.clone()).unwrap_or_default();
        subs.into_iter().for_each(|sub| mirror_sub(router, sub));
    }
    Ok(())
}

/// Takes a pair apart, with its device and the pairs of sub-interfaces.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, phy: InterfaceIndex) -> Result<(), Error> {
    super::of(router, phy).ok_or(Error::Unknown)?;
    let subs = router.interfaces.at(phy).map(|i| i.subs.clone()).unwrap_or_default();
    for sub in subs {
        // Not all have pairs.
        let _ = remove(router, sub);
    }
    let is_test = super::of(router, phy).is_some_and(|pair| pair.device == 0);
    let host = take(router, phy)?;
    match router.interfaces.at(host).map(net::Interface::is_sub) {
        Some(true) if !is_test => router.remove_interface(host),
        Some(false) if !is_test => delete_tap(router, host),
        _ => (),
    }
    Ok(())
}

/// Forgets a pair, whose interfaces are still there; its host interface.
fn take(router: &mut Router, phy: InterfaceIndex) -> Result<InterfaceIndex, Error> {
    super::of(router, phy).ok_or(Error::Unknown)?;
    tell(router, phy, false);
    // First, as its addresses are reported once more; it may be the one being deleted.
    let _ = router.punt_broadcast(phy, false);
    set_groups(router, phy, [None; 2]);
    set_broadcast(router, phy, None);
    let pair = router.own_mut::<Pairs>().list.remove(&phy).ok_or(Error::Unknown)?;
    super::punt(router);
    for index in [phy, pair.host] {
        // It may be the one that is going.
        let _ = router.put(index, Paired::default());
    }
    pair.followed.into_iter().for_each(|followed| router.unfollow(followed));
    let is_sub = router.interfaces.at(pair.host).is_some_and(net::Interface::is_sub);
    if is_sub && pair.device != 0 {
        let gone = super::with_kernel(router, &pair.namespace, |k| k.remove_link(pair.device));
        if let Err(e) = gone {
            router.log.class("linux-cp", "if").info(format_args!("delete {}: {e}", pair.name));
        }
    }
    if pair.device == 0 {
        let _ = router.enable_ip4(pair.host, false);
        let _ = router.enable_ip6(pair.host, false);
        router.interfaces.change_port(pair.host, |port| port.takes_all = false);
    }
    Ok(pair.host)
}

/// An interface goes: so does its pair.
pub(super) fn forget(router: &mut Router, gone: InterfaceIndex) {
    let paired = router.setting::<Paired>(gone);
    match paired.side {
        Side::Phy => drop(remove(router, gone)),
        Side::Host => drop(take(router, InterfaceIndex(paired.other))),
        Side::None => (),
    }
}

/// Makes the pair of a sub-interface whose parent has one, if so configured.
pub(super) fn mirror_sub(router: &mut Router, sub: InterfaceIndex) {
    let Some(i) = router.interfaces.at(sub).filter(|i| i.is_sub()) else { return };
    let Some(parent) = super::of(router, i.sup) else { return };
    let is_wanted = settings(router).has_auto_subs;
    if !is_wanted || parent.kind != Kind::Tap || super::of(router, sub).is_some() {
        return;
    }
    let id = i.sub.map_or(0, |sub| sub.id);
    let (name, namespace) = (format!("{}.{id}", parent.name), parent.namespace.clone());
    let wanted = Wanted { phy: sub, name, kind: Some(Kind::Tap), namespace, id: None };
    match begin::<(), Error>(router, wanted, |_| ()) {
        Ok(making) => {
            router.own_mut::<Pairs>().making.push((sub, making));
            wait(router, 0);
        }
        Err(e) => warn(router, sub, &e),
    }
}

fn warn(router: &Router, sub: InterfaceIndex, why: &Error) {
    let name = router.interfaces.name(sub.0);
    router.log.class("linux-cp", "if").warn(format_args!("no pair for {name}: {why}"));
}

/// Checks for opened devices without a waiting request.
fn wait(router: &mut Router, _: u64) {
    for (sub, mut making) in std::mem::take(&mut router.own_mut::<Pairs>().making) {
        match making.look(router) {
            None => router.own_mut::<Pairs>().making.push((sub, making)),
            Some(Err(e)) => warn(router, sub, &e),
            Some(Ok(())) => (),
        }
    }
    if !router.own::<Pairs>().making.is_empty() {
        router.after(LOOK, wait, 0);
    }
}

/// Receives the link's groups in the current tables of an interface.
pub(super) fn follow_tables(router: &mut Router, phy: InterfaceIndex) {
    if super::of(router, phy).is_some() {
        let on = router.addresses.of(phy);
        let tables = [on.table(Link::Ip4), on.table(Link::Ip6)];
        set_groups(router, phy, tables);
        set_broadcast(router, phy, tables[0]);
    }
}

/// Receives broadcasts of the link in a table: Linux programs listen to them, DHCP servers among
/// them. Elsewhere in the table they are dropped for lack of a handler.
fn set_broadcast(router: &mut Router, phy: InterfaceIndex, new: Option<TableIndex>) {
    let Some(pair) = super::of_mut(router, phy) else { return };
    let old = std::mem::replace(&mut pair.broadcast, new);
    let Some(source) = router.fib.sources.add_own(BROADCAST.0, BROADCAST.1) else { return };
    let everybody = Prefix::Ip4(Ip4Prefix::host(Ipv4Addr::BROADCAST));
    if let Some(table) = new.filter(|_| new != old) {
        let punt = [Path::to(Target::Punt)];
        if let Err(e) = router.set_route(table, everybody, source, &punt) {
            router.log.class("linux-cp", "if").warn(e);
        }
    }
    if let Some(table) = old.filter(|_| new != old)
        && super::all(router).all(|pair| pair.broadcast != Some(table))
    {
        // A table that is gone took the route along.
        let _ = router.remove_route(table, everybody, source, &[]);
    }
}

fn set_groups(router: &mut Router, phy: InterfaceIndex, new: [Option<TableIndex>; 2]) {
    for (of, (group, len)) in GROUPS.into_iter().enumerate() {
        let Some(pair) = super::of_mut(router, phy) else { return };
        let old = std::mem::replace(&mut pair.groups[of], new[of]);
        if old == new[of] {
            continue;
        }
        let group = group.parse().expect("it is an address");
        let prefix = MPrefix { group, len, source: None };
        let link = Link::of(group);
        let phys = MPath { path: Path::to(Target::attached(link, phy)), flags: ItfFlags::ACCEPT };
        let here = Target::Receive { interface: None, addr: None };
        let here = MPath { path: Path::to(here), flags: ItfFlags::FORWARD };
        if let Some(table) = new[of] {
            let paths = [phys.clone(), here.clone()];
            if let Err(e) = router.add_mroute_paths(table, prefix, Source::DEFAULT, &paths) {
                router.log.class("linux-cp", "if").warn(e);
            }
        }
        if let Some(table) = old {
            let is_used = super::all(router).any(|pair| pair.groups[of] == Some(table));
            let paths = if is_used { vec![phys] } else { Vec::new() };
            // A table that is gone took the route along.
            let _ = router.remove_mroute(table, prefix, Source::DEFAULT, &paths);
        }
    }
}
