//! Bonds and their members, as control keeps them.

use control::feature::Registered;
use net::interface::{Kind, NewInterface, Offloads};
use net::neighbor;
use net::prelude::*;

use super::output::{Output, Plan};
use super::{Config, Error, Mode, Port};

/// Hardware class of bonds.
pub const HARDWARE: &str = "bond";
const MTU: u32 = 9000;
/// The process that announces addresses when another member takes over.
const PROCESS: &str = "bond-process";

/// A bond.
pub struct Bond {
    /// Instance number in the name.
    pub id: u32,
    /// Parameters it was made from.
    pub config: Config,
    /// Its members, in the order they joined.
    pub members: Vec<InterfaceIndex>,
    /// Members that it sends to; the first one matters in mode `active-backup`.
    pub active: Vec<InterfaceIndex>,
    /// Address that it has from its first member.
    taken: Option<MacAddr>,
    plan: Shared<Plan>,
}

/// A member of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Bond interface.
    pub bond: InterfaceIndex,
    /// Only answers in LACP, does not begin.
    pub is_passive: bool,
    /// Wants to hear of the other end every 30 seconds instead of every one.
    pub is_long_timeout: bool,
    /// The heaviest member is the active one in mode `active-backup`.
    pub weight: u32,
    /// The other end agrees to get packets here.
    pub is_distributing: bool,
    /// The address it had before, which it speaks of its link with.
    pub mac: MacAddr,
}

/// Functions that the link aggregation protocol registers, for members of bonds in mode `lacp`.
#[derive(Clone, Copy)]
pub struct Link {
    /// A member joined.
    pub joined: fn(&mut Router, InterfaceIndex),
    /// A member leaves.
    pub leaves: fn(&mut Router, InterfaceIndex),
}

/// All that control keeps.
#[derive(Default)]
pub struct Bonds {
    /// By interface.
    pub bonds: BTreeMap<InterfaceIndex, Bond>,
    /// By interface.
    pub members: BTreeMap<InterfaceIndex, Member>,
    link: Registered<Link>,
    /// Bonds whose addresses are to be announced.
    moved: BTreeSet<InterfaceIndex>,
}

impl Bonds {
    /// The bond that a member belongs to.
    pub fn of(&self, member: InterfaceIndex) -> Option<(&Member, &Bond)> {
        let member = self.members.get(&member)?;
        Some((member, self.bonds.get(&member.bond)?))
    }
}

/// Notifies the link aggregation protocol of members.
pub fn set_link(router: &mut Router, link: Link) {
    router.own_mut::<Bonds>().link.push(link);
}

/// Makes a bond, down and without members.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn create(router: &mut Router, config: Config) -> Result<InterfaceIndex, Error> {
    let Config { id, mode, numa_only, mac, .. } = config;
    if numa_only && mode != Mode::Lacp {
        return Err(Error::NumaOnly);
    }
    if let Some(mac) = mac.filter(|mac| mac.is_multicast() || *mac == MacAddr::ZERO) {
        return Err(Error::Mac(mac));
    }
    let used: BTreeSet<_> = router.own::<Bonds>().bonds.values().map(|bond| bond.id).collect();
    let id = match id {
        Some(id) if used.contains(&id) => return Err(Error::InUse(id)),
        Some(id) => id,
        None => (0..).find(|id| !used.contains(id)).expect("fewer bonds than numbers"),
    };
    let [.., high, low] = id.to_be_bytes();
    let new = NewInterface {
        name: format!("BondEthernet{id}"),
        kind: Kind::Ethernet,
        hardware: HARDWARE,
        mac: mac.unwrap_or(MacAddr([0x02, 0xfe, 0xb0, 0x4d, high, low])),
        mtu: MTU,
        // Outputs of members complete what their devices cannot.
        offloads: Offloads { checksum: true, gso: true, tunnels: true },
        link_follows_admin: false,
    };
    let plan = Shared::new(Plan::new(mode, config.balance));
    let made = router.add_interface(new, Output::new(plan.reader())).map_err(Error::Interface)?;
    let (members, active) = (Vec::new(), Vec::new());
    let bond = Bond { id, config, members, active, taken: None, plan };
    router.own_mut::<Bonds>().bonds.insert(made, bond);
    Ok(made)
}

/// Deletes a bond; its members are free then.
///
/// # Errors
/// [`Error::NoInterface`] for what is no bond.
pub fn delete(router: &mut Router, bond: InterfaceIndex) -> Result<(), Error> {
    if !super::is_bond(router, bond) {
        return Err(Error::NoInterface);
    }
    router.remove_interface(bond);
    Ok(())
}

/// Adds a member to a bond.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_member(
    router: &mut Router,
    member: InterfaceIndex,
    bond: InterfaceIndex,
    (is_passive, is_long_timeout): (bool, bool),
) -> Result<(), Error> {
    let i = router.interfaces.at(member).ok_or(Error::NoInterface)?;
    let (mac, is_fit) = (i.mac, i.kind == Kind::Ethernet && !i.is_sub());
    let own = router.interfaces.at(bond).map(|i| (i.mac, i.made.mac));
    let all = router.own_mut::<Bonds>();
    let link = all.link.iter().next().copied();
    let of = all.bonds.get_mut(&bond).ok_or(Error::NoBond)?;
    if all.members.contains_key(&member) {
        return Err(Error::IsMember);
    }
    if of.config.mode == Mode::Lacp && link.is_none() {
        return Err(Error::NoLacp);
    }
    // An address that the operator has set stays.
    let is_set = own.is_some_and(|(now, made)| now != made && Some(now) != of.taken);
    let takes = of.members.is_empty() && of.config.mac.is_none() && !is_set;
    let mode = of.config.mode;
    if !is_fit || super::is_bond(router, member) {
        return Err(Error::Unfit);
    }
    let (weight, is_distributing) = (0, mode != Mode::Lacp);
    let new = Member { bond, is_passive, is_long_timeout, weight, is_distributing, mac };
    let all = router.own_mut::<Bonds>();
    all.members.insert(member, new);
    let of = all.bonds.get_mut(&bond).expect("it was there");
    of.members.push(member);
    if takes {
        of.taken = Some(mac);
        router.give_mac(bond, Some(mac));
    } else {
        give_mac(router, bond);
    }
    refresh(router, bond);
    if let Some(link) = link.filter(|_| mode == Mode::Lacp) {
        (link.joined)(router, member);
    }
    Ok(())
}

/// Removes a member from a bond.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::NoMember`].
pub fn detach(router: &mut Router, member: InterfaceIndex) -> Result<(), Error> {
    router.interfaces.at(member).ok_or(Error::NoInterface)?;
    let all = router.own::<Bonds>();
    let (of, bond) = all.of(member).ok_or(Error::NoMember)?;
    let (at, own) = (of.bond, of.mac);
    // Others are the first then, whose address is another one.
    let is_first = bond.members.len() > 1 && bond.members.first() == Some(&member);
    let kept = bond.taken.filter(|mac| is_first && *mac == own);
    let kept = kept.filter(|mac| router.interfaces.at(at).is_some_and(|i| i.mac == *mac));
    let link = all.link.iter().next().copied();
    if let Some(link) = link.filter(|_| bond.config.mode == Mode::Lacp) {
        (link.leaves)(router, member);
    }
    let all = router.own_mut::<Bonds>();
    all.members.remove(&member);
    if let Some(bond) = all.bonds.get_mut(&at) {
        bond.members.retain(|other| *other != member);
    }
    refresh(router, at);
    let done = router.put(member, Port::default());
    done.expect("the interface is there");
    router.give_mac(member, None);
    if let Some(mac) = kept {
        router.set_mac(at, mac);
    }
    Ok(())
}

/// Sets how much a member is preferred in mode `active-backup`.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::NoMember`], [`Error::Weight`].
pub fn set_weight(router: &mut Router, member: InterfaceIndex, weight: u32) -> Result<(), Error> {
    router.interfaces.at(member).ok_or(Error::NoInterface)?;
    let all = router.own_mut::<Bonds>();
    let (_, bond) = all.of(member).ok_or(Error::NoMember)?;
    if bond.config.mode != Mode::ActiveBackup {
        return Err(Error::Weight);
    }
    change(router, member, |member| member.weight = weight);
    Ok(())
}

/// Says whether the other end of a member's link agrees to get and send packets there.
pub fn set_distributing(router: &mut Router, member: InterfaceIndex, is_distributing: bool) {
    change(router, member, |member| member.is_distributing = is_distributing);
}

fn change(router: &mut Router, member: InterfaceIndex, change: impl FnOnce(&mut Member)) {
    let Some(member) = router.own_mut::<Bonds>().members.get_mut(&member) else { return };
    change(member);
    let bond = member.bond;
    refresh(router, bond);
}

/// Members have the address of their bond.
fn give_mac(router: &mut Router, bond: InterfaceIndex) {
    let Some(mac) = router.interfaces.at(bond).map(|i| i.mac) else { return };
    let Some(of) = router.own::<Bonds>().bonds.get(&bond) else { return };
    for member in of.members.clone() {
        if router.interfaces.at(member).is_some_and(|i| i.mac != mac) {
            router.give_mac(member, Some(mac));
        }
    }
}

/// Finds out which members of a bond are active, and says so to nodes and everybody.
fn refresh(router: &mut Router, bond: InterfaceIndex) {
    let all = router.own::<Bonds>();
    let Some(of) = all.bonds.get(&bond) else { return };
    let carries = |member: &InterfaceIndex| {
        let i = router.interfaces.at(*member);
        i.is_some_and(|i| i.admin_up && i.link_up) && all.members[member].is_distributing
    };
    let mut active: Vec<_> = of.members.iter().copied().filter(carries).collect();
    if of.config.mode == Mode::ActiveBackup {
        // The heaviest one; among these, the one that is used.
        let now = of.active.first();
        active.order_by_key(|m| (u32::MAX - all.members[m].weight, Some(m) != now));
    }
    let takes = |member: &InterfaceIndex| match of.config.mode {
        Mode::ActiveBackup => active.first() == Some(member),
        Mode::Lacp => all.members[member].is_distributing,
        _ => true,
    };
    let ports: Vec<_> = of.members.iter().map(|member| (*member, takes(member))).collect();
    let (before, first) = (of.active.first().copied(), active.first().copied());
    for (member, takes) in ports {
        let done = router.put(member, Port { bond: bond.0, takes });
        done.expect("members are interfaces");
    }
    publish(router, bond, active);
    let Some(i) = router.interfaces.at(bond) else { return };
    let (was_up, is_up) = (i.link_up, i.admin_up && first.is_some());
    router.set_link(bond, is_up);
    // Whose link comes up is announced anyway.
    let all = router.own_mut::<Bonds>();
    let is_backup = all.bonds.get(&bond).is_some_and(|b| b.config.mode == Mode::ActiveBackup);
    if is_backup && was_up && is_up && before != first && all.moved.insert(bond) {
        router.processes.signal(PROCESS, 0);
    }
}

/// Tells the bond's node which members to send to.
fn publish(router: &mut Router, bond: InterfaceIndex, active: Vec<InterfaceIndex>) {
    let Some(tx) = router.interfaces.at(bond).map(|i| i.tx) else { return };
    let from = router.engine.name_of(tx).to_owned();
    let mut edge = |member: &InterfaceIndex| -> Option<(u32, Slot)> {
        let output = router.interfaces.at(*member)?.output;
        let to = router.engine.name_of(output).to_owned();
        Some((member.0, router.engine.connect(&from, &to).ok()?))
    };
    let members: Vec<_> = active.iter().filter_map(&mut edge).collect();
    let Some(of) = router.own_mut::<Bonds>().bonds.get_mut(&bond) else { return };
    of.active = active;
    if of.plan.current().members != members {
        let plan = Plan { members, ..of.plan.current().clone() };
        of.plan.publish(plan);
    }
}

/// Announces the addresses of bonds whose packets take another link from now on.
fn announce(router: &mut Router) -> Wake {
    for bond in std::mem::take(&mut router.own_mut::<Bonds>().moved) {
        neighbor::announce(router, bond);
    }
    Wake::OnEvent
}

/// Follows what happens to bonds and members.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let all = router.own::<Bonds>();
    let of = all.members.get(&interface).map(|member| member.bond);
    let is_bond = all.bonds.contains_key(&interface);
    match change {
        Change::State if is_bond => refresh(router, interface),
        Change::State => of.into_iter().for_each(|bond| refresh(router, bond)),
        Change::Mac if is_bond => give_mac(router, interface),
        Change::Deleting if is_bond => {
            let members = all.bonds[&interface].members.clone();
            // The first at last: the bond has its address.
            for member in members.into_iter().rev() {
                detach(router, member).expect("it is one of its members");
            }
            router.own_mut::<Bonds>().bonds.remove(&interface);
        }
        Change::Deleting if of.is_some() => detach(router, interface).expect("it is a member"),
        _ => (),
    }
}

pub(super) fn register(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| announce(router)));
}
