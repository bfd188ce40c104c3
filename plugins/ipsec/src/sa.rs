//! Security associations: keys, numbers and headers of one direction (RFC 4301 section 4.4.2).

use std::sync::Arc;

use control::stats::Columns;
use crypto::{CIPHERS, Cipher, MACS, Mac, Mode};
use infra::cpu::prefetch;
use infra::owner::Owner;
use infra::replay::{Numbers, Window};
use net::Router;
use net::adjacency::chain::{Fixup, Hop};
use net::fib::Followed;
use net::tunnel::Outer;
use wire::Protocol;

use super::encrypt::ONWARD;
use super::esp::Keys;
use super::outside::Outside;
use super::runs::Suite;
use super::{Error, Ipsec, protect};

/// Security associations at most.
pub const MOST: usize = 1 << 17;
pub(super) const COLUMNS: Columns = Columns::growing("ipsec sa", MOST);
/// Longest key that messages carry.
const LONGEST_KEY: usize = 128;

/// Configuration of a security association.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// SA ID.
    pub id: u32,
    /// SPI.
    pub spi: u32,
    /// [`Protocol::ESP`] or [`Protocol::AH`].
    pub protocol: Protocol,
    /// The cipher, by its number.
    pub cipher: u32,
    /// Key.
    pub cipher_key: Vec<u8>,
    /// The keyed hash, by its number.
    pub mac: u32,
    /// Key.
    pub mac_key: Vec<u8>,
    /// Bytes in front of the initialization vector.
    pub salt: u32,
    /// Sequence numbers have 64 bits.
    pub has_esn: bool,
    /// Packets are let through once.
    pub has_anti_replay: bool,
    /// For inbound packets.
    pub is_inbound: bool,
    /// Work may wait, as clients say: accepted, never so.
    pub is_async: bool,
    /// Ports of the UDP header in front of ESP.
    pub udp: Option<(u16, u16)>,
    /// The outer header in tunnel mode.
    pub tunnel: Option<Outer>,
    /// Anti-replay window size.
    pub window: u32,
    /// Another feature made it and makes it again: it is in no configuration.
    pub is_derived: bool,
}

impl Config {
    fn check(&self) -> Result<(), Error> {
        let cipher = CIPHERS.get(self.cipher as usize).ok_or(Error::Algorithm)?;
        MACS.get(self.mac as usize).ok_or(Error::Algorithm)?;
        let is_ah = self.protocol == Protocol::AH;
        if !is_ah && self.protocol != Protocol::ESP {
            return Err(Error::Protocol);
        }
        // AH is its hash, and a UDP header is in front of ESP only (RFC 3948).
        if is_ah && (self.mac == 0 || self.udp.is_some()) {
            return Err(Error::Unfit);
        }
        if self.mac_key.len() > LONGEST_KEY || self.cipher_key.len() > LONGEST_KEY {
            return Err(Error::Key(LONGEST_KEY));
        }
        if !is_ah && self.mac != 0 && matches!(cipher.mode, Mode::Aead | Mode::Gmac) {
            return Err(Error::Unfit);
        }
        if self.window > Window::MOST {
            return Err(Error::Window);
        }
        let Some(outer) = &self.tunnel else { return Ok(()) };
        if outer.src.is_ipv4() != outer.dst.is_ipv4() {
            return Err(Error::Families);
        }
        Ok(())
    }
    fn keys(&self) -> Result<Keys, Error> {
        // AH enciphers nothing, whatever cipher clients name.
        let number = if self.protocol == Protocol::AH { 0 } else { self.cipher };
        let cipher = CIPHERS.get(number as usize).ok_or(Error::Algorithm)?;
        let cipher = Cipher::new(*cipher, &self.cipher_key).map_err(|e| Error::Key(e.expected))?;
        let mac = Mac::new(*MACS.get(self.mac as usize).ok_or(Error::Algorithm)?, &self.mac_key);
        Ok(Keys { cipher, mac, salt: self.salt.to_be_bytes(), has_esn: self.has_esn })
    }
}

/// State that goes on when an association is changed.
#[derive(Debug)]
pub struct State {
    /// Numbers that it has sent.
    pub sent: Numbers,
    /// Numbers that it has received.
    pub received: Window,
    /// Numbers of initialization vectors.
    pub unique: Numbers,
    /// The thread that works with it.
    pub owner: Owner,
}

/// A security association, as nodes read it.
#[derive(Clone)]
pub struct Sa {
    /// Its configuration.
    pub config: Arc<Config>,
    /// Ready for use.
    pub keys: Arc<Keys>,
    /// How several packets are sealed or opened together; `None`: one by one.
    pub suite: Option<Suite>,
    /// Header in front of packets that it sends.
    pub outside: Outside,
    /// The way to the far end of a tunnel.
    pub hop: Hop,
    /// Its numbers and its thread.
    pub state: Arc<State>,
}

impl Sa {
    /// Prefetches it.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.config);
        prefetch(&self.outside);
        prefetch(&self.state);
    }
    /// Prefetches the parts that a packet needs first; it is near itself.
    #[inline(always)]
    pub fn prefetch_parts(&self) {
        prefetch(&self.config.spi);
        prefetch(&self.config.has_esn);
        prefetch(&self.keys.cipher);
        prefetch(&self.keys.mac.algorithm);
        prefetch(&self.keys.salt);
        prefetch(&self.state.sent);
        prefetch(&self.state.owner);
    }
    /// The greatest sequence number.
    #[inline(always)]
    pub fn most(&self) -> u64 {
        if self.config.has_esn { u64::MAX } else { u32::MAX.into() }
    }
    /// The whole number of a packet that carries its lower half; `None` for one that was there or
    /// is too old.
    #[inline(always)]
    pub fn number_of(&self, low: u32) -> Option<u64> {
        let is_strict = self.config.has_anti_replay;
        let received = &self.state.received;
        let number = match self.config.has_esn {
            true => received.whole(low, is_strict)?,
            false => low.into(),
        };
        (!is_strict || !received.is_seen(number)).then_some(number)
    }
    /// Whether it is of AH, else of ESP.
    #[inline(always)]
    pub fn is_ah(&self) -> bool {
        self.config.protocol == Protocol::AH
    }
    /// Whether packets are neither enciphered nor authenticated.
    #[inline(always)]
    pub fn protects_nothing(&self) -> bool {
        self.config.cipher == 0 && self.config.mac == 0
    }
}

/// Control's state of an association.
#[derive(Default)]
pub(super) struct Kept {
    users: u32,
    /// It was deleted, and goes with its last user.
    is_orphan: bool,
    followed: Option<Followed>,
}

/// The number under which nodes find an association, and its counters.
///
/// # Errors
/// [`Error::NoSa`].
pub fn index(router: &Router, id: u32) -> Result<u32, Error> {
    router.own::<Ipsec>().by_id.get(&id).copied().ok_or(Error::NoSa(id))
}

/// All, by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Sa)> {
    router.own::<Ipsec>().sas.iter()
}

/// Makes a security association; returns its number.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(router: &mut Router, mut config: Config) -> Result<u32, Error> {
    if router.own::<Ipsec>().by_id.contains_key(&config.id) {
        return Err(Error::SaExists(config.id));
    }
    config.check()?;
    if router.own::<Ipsec>().sas.len() >= MOST {
        return Err(Error::Full);
    }
    config.window = Window::new(config.window).size() as u32;
    let keys = Arc::new(config.keys()?);
    let state = new_state(config.window)?;
    let (id, followed) = (config.id, follow(router, &config)?);
    let new = made(Arc::new(config), keys, state, followed.as_ref());
    let ipsec = router.own_mut::<Ipsec>();
    let index = ipsec.sas.insert(new).map_err(|_| Error::Full)?;
    ipsec.by_id.insert(id, index);
    ipsec.kept.insert(index, Kept { followed, ..Kept::default() });
    let (counters, errors) = (ipsec.counters.clone(), ipsec.errors.clone());
    router.count_from_zero(&counters, COLUMNS, index, "security associations");
    let at = index as usize;
    let _ = router.engine.on_threads(move |thread| errors.zero(thread, at));
    Ok(index)
}

fn follow(router: &mut Router, config: &Config) -> Result<Option<Followed>, Error> {
    let Some(outer) = &config.tunnel else { return Ok(None) };
    let route = router.follow(outer.link(), outer.table, outer.dst, None).map_err(Error::Fib)?;
    router.use_table_of(outer.link(), outer.table, true);
    Ok(Some(route))
}

fn made(
    config: Arc<Config>,
    keys: Arc<Keys>,
    state: Arc<State>,
    followed: Option<&Followed>,
) -> Sa {
    let outside = Outside::new(&config);
    let hop = hop(config.tunnel.as_ref(), followed);
    let suite = Suite::of(&keys).filter(|_| config.protocol == Protocol::ESP);
    Sa { config, keys, suite, outside, hop, state }
}

/// The way to a far end, for the nodes that seal.
pub(super) fn hop(outer: Option<&Outer>, followed: Option<&Followed>) -> Hop {
    let is_6 = outer.is_some_and(|outer| outer.src.is_ipv6());
    let [rewrite, balance] = ONWARD[usize::from(is_6)];
    Hop {
        header: Box::default(),
        fixup: Fixup::Ip4,
        carries_offloads: false,
        stacked: followed.map_or(0, Followed::load_balance),
        fib: outer.map_or(0, |outer| outer.table.0),
        rewrite,
        balance,
    }
}

/// Puts another association in the place of one, with the same id: what uses it uses that from then
/// on.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn replace(router: &mut Router, mut config: Config) -> Result<(), Error> {
    let index = index(router, config.id)?;
    let old = router.own::<Ipsec>().sas.at(index).map(|sa| Arc::clone(&sa.config));
    config.check()?;
    config.window = Window::new(config.window).size() as u32;
    let (keys, state) = (Arc::new(config.keys()?), new_state(config.window)?);
    let followed = follow(router, &config)?;
    let new = made(Arc::new(config), keys, state, followed.as_ref());
    let ipsec = router.own_mut::<Ipsec>();
    ipsec.sas.replace(index, new);
    let gone =
        ipsec.kept.get_mut(&index).and_then(|k| std::mem::replace(&mut k.followed, followed));
    leave(router, old.as_deref(), gone);
    protect::refresh(router, index);
    Ok(())
}

/// Numbers of an association that begins.
fn new_state(window: u32) -> Result<Arc<State>, Error> {
    let mut start = [0; 8];
    if !crypto::fill_random(&mut start) {
        return Err(Error::NoRandom);
    }
    let unique = Numbers::default();
    unique.set(u64::from_be_bytes(start) >> 1);
    let (sent, received) = (Numbers::default(), Window::new(window));
    Ok(Arc::new(State { sent, received, unique, owner: Owner::new(None) }))
}

/// Deletes an association; one that is used goes with its last use.
///
/// # Errors
/// [`Error::NoSa`].
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    let index = index(router, id)?;
    let ipsec = router.own_mut::<Ipsec>();
    ipsec.by_id.remove(&id);
    if let Some(kept) = ipsec.kept.get_mut(&index) {
        kept.is_orphan = true;
    }
    give_up(router, index);
    Ok(())
}

/// Frees a deleted and unused association.
fn give_up(router: &mut Router, index: u32) {
    let ipsec = router.own_mut::<Ipsec>();
    let is_over = |kept: &Kept| kept.is_orphan && kept.users == 0;
    if !ipsec.kept.get(&index).is_some_and(is_over) {
        return;
    }
    let followed = ipsec.kept.remove(&index).and_then(|kept| kept.followed);
    let config = ipsec.sas.at(index).map(|sa| Arc::clone(&sa.config));
    ipsec.sas.remove(index);
    leave(router, config.as_deref(), followed);
}

fn leave(router: &mut Router, config: Option<&Config>, followed: Option<Followed>) {
    if let Some(route) = followed {
        router.unfollow(route);
    }
    if let Some(outer) = config.and_then(|config| config.tunnel.as_ref()) {
        router.use_table_of(outer.link(), outer.table, false);
    }
}

/// Counts a user of an association, or one less.
pub(super) fn use_one(router: &mut Router, index: u32, is_used: bool) {
    if let Some(kept) = router.own_mut::<Ipsec>().kept.get_mut(&index) {
        kept.users = if is_used { kept.users + 1 } else { kept.users.saturating_sub(1) };
    }
    give_up(router, index);
}

/// Changes ports and tunnel of an association; its numbers go on.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn update(
    router: &mut Router,
    id: u32,
    tunnel: Option<Outer>,
    (src, dst): (Option<u16>, Option<u16>),
) -> Result<(), Error> {
    let index = index(router, id)?;
    let old = router.own::<Ipsec>().sas.at(index).ok_or(Error::NoSa(id))?.clone();
    let mut config = Config::clone(&old.config);
    if (src.is_some() || dst.is_some()) && config.udp.is_none() {
        return Err(Error::Unfit);
    }
    if let Some((old_src, old_dst)) = config.udp {
        config.udp = Some((src.unwrap_or(old_src), dst.unwrap_or(old_dst)));
    }
    if tunnel.is_some() {
        if config.tunnel.is_none() {
            return Err(Error::Unfit);
        }
        config.tunnel = tunnel;
    }
    config.check()?;
    let followed = follow(router, &config)?;
    let new = made(Arc::new(config), old.keys, old.state, followed.as_ref());
    let ipsec = router.own_mut::<Ipsec>();
    ipsec.sas.replace(index, new);
    let gone =
        ipsec.kept.get_mut(&index).and_then(|k| std::mem::replace(&mut k.followed, followed));
    leave(router, Some(&old.config), gone);
    protect::refresh(router, index);
    Ok(())
}

/// Binds an association to a worker, counted from 0; `None`: to the first that has a packet for it.
///
/// # Errors
/// [`Error::NoSa`], [`Error::NoWorker`].
pub fn bind(router: &mut Router, id: u32, worker: Option<u32>) -> Result<(), Error> {
    let index = index(router, id)?;
    let thread = worker.map(|worker| (worker as usize).saturating_add(1));
    if thread.is_some_and(|thread| !router.engine.data_threads().contains(&thread)) {
        return Err(Error::NoWorker);
    }
    let sa = router.own::<Ipsec>().sas.at(index).ok_or(Error::NoSa(id))?;
    sa.state.owner.set(thread);
    Ok(())
}
