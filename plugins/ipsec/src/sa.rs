//! Security associations: keys, sequence numbers and headers of one direction (RFC 4301 section
//! 4.4.2).

use control::stats::Columns;
use crypto::{CIPHERS, Cipher, Hidden, MACS, Mac, Mode};
use infra::cpu::prefetch;
use infra::owner::Owner;
use infra::replay::{Numbers, Window};
use net::adjacency::chain::{Fixup, Hop};
use net::fib::Followed;
use net::prelude::*;
use net::tunnel::Outer;

use super::encrypt::ONWARD;
use super::esp::Keys;
use super::outside::Outside;
use super::runs::Suite;
use super::selector::{Open, Selectors};
use super::{Error, Ipsec, protect};

/// Limit of SAs.
pub const MOST: usize = 1 << 17;
pub(super) const COLUMNS: Columns = Columns::growing("ipsec sa", MOST);
/// Longest key in messages.
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
    /// Number of the cipher.
    pub cipher: u32,
    /// Key.
    pub cipher_key: Hidden,
    /// Number of the integrity algorithm.
    pub mac: u32,
    /// Key.
    pub mac_key: Hidden,
    /// Salt that precedes the initialization vector.
    pub salt: u32,
    /// Whether sequence numbers have 64 bits.
    pub has_esn: bool,
    /// Whether anti-replay is enabled.
    pub has_anti_replay: bool,
    /// For inbound packets.
    pub is_inbound: bool,
    /// Whether asynchronous operation is requested; only stored.
    pub is_async: bool,
    /// Ports of the UDP header in front of ESP.
    pub udp: Option<(u16, u16)>,
    /// The outer header in tunnel mode.
    pub tunnel: Option<Outer>,
    /// Anti-replay window size.
    pub window: u32,
    /// Traffic selectors of an SA of a tunnel; `None` for all packets.
    pub selectors: Option<Arc<Selectors>>,
    /// Whether it belongs to another feature that recreates it, so that it is not in the
    /// configuration.
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
        // AH needs an integrity algorithm, and UDP encapsulation is for ESP only (RFC 3948).
        if is_ah && (self.mac == 0 || self.udp.is_some()) {
            return Err(Error::Unfit);
        }
        if self.mac_key.0.len() > LONGEST_KEY || self.cipher_key.0.len() > LONGEST_KEY {
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
        // AH does not encrypt, whatever cipher the client sets.
        let number = if self.protocol == Protocol::AH { 0 } else { self.cipher };
        let cipher = CIPHERS.get(number as usize).ok_or(Error::Algorithm)?;
        let cipher =
            Cipher::new(*cipher, &self.cipher_key.0).map_err(|e| Error::Key(e.expected))?;
        let mac = Mac::new(*MACS.get(self.mac as usize).ok_or(Error::Algorithm)?, &self.mac_key.0);
        Ok(Keys { cipher, mac, salt: self.salt.to_be_bytes(), has_esn: self.has_esn })
    }
}

/// State that is kept when an SA is changed.
#[derive(Debug)]
pub struct State {
    /// Sent sequence numbers.
    pub sent: Numbers,
    /// Received sequence numbers.
    pub received: Window,
    /// Numbers for initialization vectors.
    pub unique: Numbers,
    /// The thread that owns it.
    pub owner: Owner,
}

/// A security association for the nodes.
#[derive(Clone)]
pub struct Sa {
    /// Its configuration.
    pub config: Arc<Config>,
    /// Prepared keys.
    pub keys: Arc<Keys>,
    /// Method of processing several packets together; `None` for one by one.
    pub suite: Option<Suite>,
    /// Contents of tunnels that are not compared with its traffic selectors.
    pub open: Open,
    /// Headers of sent packets.
    pub outside: Outside,
    /// The route to the remote endpoint of a tunnel.
    pub hop: Hop,
    /// Its sequence numbers and its thread.
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
    /// Prefetches the parts that a packet needs first; the SA itself has to be cached.
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
    /// The full sequence number of a packet with the lower half `low`; `None` for a replayed or too
    /// old one.
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
    /// Whether it uses AH instead of ESP.
    #[inline(always)]
    pub fn is_ah(&self) -> bool {
        self.config.protocol == Protocol::AH
    }
    /// Traffic selectors that packets of tunnels have to be compared with; `None` if all packets
    /// are selected.
    #[inline(always)]
    pub fn limits(&self) -> Option<&Selectors> {
        if self.open.is_all() { None } else { self.config.selectors.as_deref() }
    }
    /// Whether packets are neither encrypted nor authenticated.
    #[inline(always)]
    pub fn protects_nothing(&self) -> bool {
        self.config.cipher == 0 && self.config.mac == 0
    }
}

/// The control thread's state of an SA.
#[derive(Default)]
pub(super) struct Kept {
    pub users: u32,
    /// Whether it is deleted, and is to be freed with its last user.
    is_orphan: bool,
    followed: Option<Followed>,
}

/// Index of an SA and its counters.
///
/// # Errors
/// [`Error::NoSa`].
pub fn index(router: &Router, id: u32) -> Result<u32, Error> {
    router.own::<Ipsec>().by_id.get(&id).copied().ok_or(Error::NoSa(id))
}

/// All SAs by index.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Sa)> {
    router.own::<Ipsec>().sas.iter()
}

/// Creates a security association and returns its index.
///
/// # Errors
/// [`Error`]; nothing is created then.
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
    let open = config.selectors.as_ref().map_or(Open::ALL, |selectors| selectors.open());
    Sa { config, keys, suite, open, outside, hop, state }
}

/// The route to a remote endpoint for the encryption nodes.
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

/// Replaces an SA by another one with the same ID, for all its users.
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

/// Sequence number state of a new SA.
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

/// Deletes an SA; if it is in use, it is freed with its last user.
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

/// Frees a deleted and unused SA.
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

/// Adds or removes a user of an SA.
pub(super) fn use_one(router: &mut Router, index: u32, is_used: bool) {
    if let Some(kept) = router.own_mut::<Ipsec>().kept.get_mut(&index) {
        kept.users = if is_used { kept.users + 1 } else { kept.users.saturating_sub(1) };
    }
    give_up(router, index);
}

/// Changes ports and tunnel of an SA; its sequence numbers continue.
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

/// Binds an SA to a worker, counted from 0; `None` for the first thread that has a packet for it.
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
    let state = Arc::clone(&sa.state);
    loop {
        let now = state.owner.thread();
        match (now, thread) {
            _ if now == thread => return Ok(()),
            (None, Some(thread)) => drop(state.owner.claim(thread, |_| true)),
            (None, None) => return Ok(()),
            // Two threads that take numbers at a time would take the same ones: the one that has it
            // gives it away, between two of its loops.
            (Some(old), _) => {
                let state = Arc::clone(&state);
                let give = move |at| {
                    if at == old {
                        state.owner.set(thread);
                    }
                };
                return router.engine.on_threads(give).map_err(|_| Error::NoAnswer);
            }
        }
    }
}

/// Usage of an association: the last sequence number, the greatest one, and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The last number.
    pub number: u64,
    /// The greatest one.
    pub most: u64,
    /// Bytes since it was made; those of what it replaced count as well.
    pub bytes: u64,
}

/// Returns the usage of an association.
pub fn used(router: &Router, id: u32) -> Option<Used> {
    let index = index(router, id).ok()?;
    let ipsec = router.own::<Ipsec>();
    let sa = ipsec.sas.at(index)?;
    let number = sa.state.sent.last().max(sa.state.received.newest());
    let bytes = ipsec.counters.column(index as usize).map(|c| c.value().bytes).sum();
    Some(Used { number, most: sa.most(), bytes })
}
