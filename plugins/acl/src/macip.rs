//! MACIP lists: which pairs of a source address of layer 2 and one of layer 3 an interface receives
//! from.
//!
//! The first rule about a packet counts; what no rule is about is dropped. Of bridged frames those
//! with ARP are compared by the sender in it, and those of other types are dropped.

use infra::table::rules::{Field, Pattern, Rules};
use net::ethernet::L2_INPUT;
use net::prelude::*;

use super::rule::{mask4, mask6};
use super::{Error, MOST_LISTS, check_tag, macip_node};

/// A rule of a MACIP list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacRule {
    /// They pass, else they are dropped.
    pub permit: bool,
    /// Source address of layer 2.
    pub mac: MacAddr,
    /// MAC address mask.
    pub mac_mask: MacAddr,
    /// Sources of layer 3.
    pub src: Prefix,
}

/// The address of layer 2, then that of IPv4 in the upper half.
static FIELDS4: [Field; 2] = [
    Field { word: 0, shift: 0, bits: 48, step: 24 },
    Field { word: 1, shift: 32, bits: 32, step: 8 },
];
/// The address of layer 2, then that of IPv6, and a word for what patterns can compare by ranges.
static FIELDS6: [Field; 3] = [
    Field { word: 0, shift: 0, bits: 48, step: 24 },
    Field { word: 1, shift: 0, bits: 64, step: 16 },
    Field { word: 2, shift: 0, bits: 64, step: 32 },
];

/// An address of layer 2 as a number.
#[inline(always)]
pub(super) fn mac_word(mac: [u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = mac;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

impl MacRule {
    /// The place of a rule in its list, as far as it is about IPv4.
    fn pattern4(&self) -> Option<Pattern<2>> {
        let IpAddr::V4(addr) = self.src.addr() else { return None };
        let mask = [mac_word(self.mac_mask.0), mask4(self.src.prefix_len()) << 32];
        let value = [mac_word(self.mac.0) & mask[0], u64::from(addr.to_bits()) << 32 & mask[1]];
        Some(Pattern { mask, value, ..Pattern::ANY })
    }
    fn pattern6(&self) -> Option<Pattern<3>> {
        let IpAddr::V6(addr) = self.src.addr() else { return None };
        let (bits, mask) = (addr.to_bits(), mask6(self.src.prefix_len()));
        let mask = [mac_word(self.mac_mask.0), (mask >> 64) as u64, mask as u64];
        let value =
            [mac_word(self.mac.0) & mask[0], (bits >> 64) as u64 & mask[1], bits as u64 & mask[2]];
        Some(Pattern { mask, value, ..Pattern::ANY })
    }
}

/// The rules about one version, and where they are in the list.
#[derive(Debug, Default)]
struct Half<const W: usize> {
    rules: Rules<W>,
    verdicts: Vec<(u32, bool)>,
}

impl<const W: usize> Half<W> {
    fn of(
        rules: &[MacRule],
        pattern: impl Fn(&MacRule) -> Option<Pattern<W>>,
        fields: &'static [Field],
    ) -> Self {
        let about = (0..).zip(rules).filter_map(|(n, r)| Some(((n, r.permit), pattern(r)?)));
        let (verdicts, patterns) = about.unzip();
        Self { rules: Rules::of(patterns, fields), verdicts }
    }
    /// The rule about a key, and whether it lets it pass.
    #[inline(always)]
    fn find(&self, key: &[u64; W]) -> Option<(u32, bool)> {
        self.verdicts.get(self.rules.find(key, 0)? as usize).copied()
    }
}

/// A MACIP list.
#[derive(Debug)]
pub struct MacList {
    /// Its identifier, as operators give it.
    pub tag: String,
    /// Rules, in order.
    pub rules: Vec<MacRule>,
    v4: Half<2>,
    v6: Half<3>,
}

impl MacList {
    fn new(tag: &str, rules: Vec<MacRule>) -> Self {
        let v4 = Half::of(&rules, MacRule::pattern4, &FIELDS4);
        let v6 = Half::of(&rules, MacRule::pattern6, &FIELDS6);
        Self { tag: tag.to_owned(), rules, v4, v6 }
    }
    /// The first rule about a source of IPv4, and whether it passes.
    #[inline(always)]
    pub fn find4(&self, mac: u64, addr: [u8; 4]) -> Option<(u32, bool)> {
        self.v4.find(&[mac, u64::from(u32::from_be_bytes(addr)) << 32])
    }
    /// The first rule about a source of IPv6, and whether it passes.
    #[inline(always)]
    pub fn find6(&self, mac: u64, addr: &[u8; 16]) -> Option<(u32, bool)> {
        let [high, low] = super::rule::words(addr);
        self.v6.find(&[mac, high, low])
    }
}

/// The MACIP list of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MacIp(pub Option<u32>);

/// All MACIP lists.
pub struct MacLists {
    slab: SharedSlab<MacList>,
    /// Interfaces reported to clients: up to the highest that ever had a list.
    pub(super) told: u32,
}

impl MacLists {
    /// A list.
    pub fn at(&self, index: u32) -> Option<&MacList> {
        self.slab.at(index)
    }
    /// All lists by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &MacList)> {
        self.slab.iter()
    }
    /// Lists from a number on.
    pub fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &MacList)> {
        self.slab.iter_from(first)
    }
    pub(super) fn reader(&self) -> SlabReader<MacList> {
        self.slab.reader()
    }
}

/// All MACIP lists.
pub fn all(router: &Router) -> &MacLists {
    router.own::<MacLists>()
}

/// Makes a list, or replaces one; `is_new` for one that is to have a number. Returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put(
    router: &mut Router,
    index: Option<u32>,
    is_new: bool,
    tag: &str,
    rules: Vec<MacRule>,
) -> Result<u32, Error> {
    check_tag(tag)?;
    let lists = all(router);
    let is_there = |index: u32| lists.at(index).is_some();
    let index = match index {
        Some(index) if index as usize >= MOST_LISTS => return Err(Error::Unknown(index)),
        Some(index) if is_new && is_there(index) => return Err(Error::Exists(index)),
        Some(index) if !is_new && !is_there(index) => return Err(Error::Unknown(index)),
        Some(index) => index,
        None => (0..MOST_LISTS as u32).find(|n| !is_there(*n)).ok_or(Error::Full)?,
    };
    router.own_mut::<MacLists>().slab.put(index, Some(MacList::new(tag, rules)));
    Ok(index)
}

/// Deletes a list, and takes it off interfaces.
///
/// # Errors
/// [`Error::Unknown`].
pub fn delete(router: &mut Router, index: u32) -> Result<(), Error> {
    all(router).at(index).ok_or(Error::Unknown(index))?;
    let users = router.settings::<MacIp>().filter(|(_, list)| list.0 == Some(index));
    for interface in users.map(|(interface, _)| interface).collect::<Vec<_>>() {
        router.put(interface, MacIp(None))?;
    }
    router.own_mut::<MacLists>().slab.put(index, None);
    Ok(())
}

/// Gives an interface a list, in place of another one.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn apply(router: &mut Router, interface: InterfaceIndex, list: u32) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    all(router).at(list).ok_or(Error::Unknown(list))?;
    router.put(interface, MacIp(Some(list)))?;
    let lists = router.own_mut::<MacLists>();
    lists.told = lists.told.max(interface.0 + 1);
    Ok(())
}

/// Takes the list off an interface.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::NoMacIp`].
pub fn take_off(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    router.setting::<MacIp>(interface).0.ok_or(Error::NoMacIp)?;
    Ok(router.put(interface, MacIp(None))?)
}

pub(super) fn register(router: &mut Router) -> Result<(), Refused> {
    let lists = MacLists { slab: SharedSlab::new(MOST_LISTS).map_err(refuse)?, told: 0 };
    let settings = router.attach::<MacIp>().map_err(refuse)?;
    let [ip4, ip6, layer2] = macip_node::NAMES;
    macip_node::add(router, &lists, &settings).map_err(refuse)?;
    let is_on = |list: &MacIp| list.0.is_some();
    router.attach_at([
        AttachedAt { arc: &IP4_UNICAST, node: ip4, is_on },
        AttachedAt { arc: &IP6_UNICAST, node: ip6, is_on },
    ]);
    if super::has_layer2(router) {
        macip_node::add_layer2(router, &lists, &settings).map_err(refuse)?;
        router.attach_at([AttachedAt { arc: &L2_INPUT, node: layer2, is_on }]);
    }
    router.insert(lists);
    Ok(())
}
