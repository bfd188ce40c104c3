//! Child SAs (RFC 7296 sections 1.3 and 2.9): negotiation, keys and lifetimes.

use wire::IpVersion;

use super::sa::Child;
use super::waiting::{Plain, Waiting};
use super::{Act, Ends, Install, Machine, Noted, Profile, Sa};
use crate::codec::number::{exchange, notify, payload, protocol};
use crate::codec::{Chain, Content, Proposal, Selector, selector};
use crate::crypto::group::Group;
use crate::crypto::job::{Done, Job};
use crate::crypto::keys::{Hidden, child_keys};
use crate::crypto::suite::EspSuite;

/// Seconds for which a replaced child SA still receives. Then the end that replaced it deletes it;
/// the other end removes it a while later in any case.
pub(super) const HANDOVER: f64 = 5.0;
pub(super) const HANDOVER_THERE: f64 = 8.0;
/// Children of an association at most: the one that is used, and those that it replaced.
pub(super) const MOST_CHILDREN: usize = 4;

/// Traffic selectors of a profile, local and remote; by default all traffic, as routes decide which
/// packets a tunnel carries. Some peers look only at the first one.
pub(super) fn selectors(profile: &Profile, ends: &Ends) -> (Vec<Selector>, Vec<Selector>) {
    let first = IpVersion::from(ends.remote.0);
    let second = IpVersion::six(first == IpVersion::V4);
    let any = || [first, second].map(Selector::any).to_vec();
    let of = |ts: Option<Selector>| ts.map_or_else(any, |ts| vec![ts]);
    (of(profile.local_ts), of(profile.remote_ts))
}

/// Appends payloads to a chain.
pub(super) fn joined(mut first: Chain, second: Vec<(u8, Vec<u8>)>) -> Chain {
    second.iter().for_each(|(kind, body)| first.push(*kind, body));
    first
}

/// Intersection of the offered selectors with the configured one.
fn narrowed(offered: &[Selector], own: Option<&Selector>) -> Vec<Selector> {
    let Some(own) = own else { return offered.to_vec() };
    let mut all: Vec<Selector> = Vec::new();
    for found in offered.iter().filter_map(|offered| offered.narrow(own)) {
        if !all.iter().any(|known| known.covers(&found)) {
            all.retain(|known| !found.covers(known));
            all.push(found);
        }
    }
    all
}

/// A new child SA.
pub(super) struct New<'a> {
    pub(super) is_initiator: bool,
    pub(super) spis: (u32, u32),
    pub(super) suite: EspSuite,
    pub(super) nonces: (&'a [u8], &'a [u8]),
    pub(super) shared: Option<&'a Hidden>,
    pub(super) ts: (Vec<Selector>, Vec<Selector>),
    pub(super) replaces: Option<u32>,
}

impl Machine {
    /// Accepts an offer of a child SA and returns the payloads of the response.
    ///
    /// # Errors
    /// The notification that refuses it.
    pub(super) fn make_child(
        &mut self,
        now: f64,
        sa: &mut Sa,
        content: &Content<'_>,
        nonces: (&[u8], &[u8]),
        (shared, replaces): (Option<&Hidden>, Option<u32>),
    ) -> Result<Vec<(u8, Vec<u8>)>, u16> {
        let profile = self.profiles.get(&sa.profile).cloned().unwrap_or_default();
        let (number, spi, suite) = choose(&profile, content).ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let (Some(ts_i), Some(ts_r)) = (&content.ts_i, &content.ts_r) else {
            return Err(notify::INVALID_SYNTAX);
        };
        let ts_i = narrowed(ts_i, profile.remote_ts.as_ref());
        let ts_r = narrowed(ts_r, profile.local_ts.as_ref());
        if ts_i.is_empty() || ts_r.is_empty() {
            return Err(notify::TS_UNACCEPTABLE);
        }
        let own = self.new_child_spi().ok_or(notify::TEMPORARY_FAILURE)?;
        let answer = vec![
            (payload::SA, Proposal::body(&[suite.accept(number, own)])),
            (payload::TS_I, selector::body(&ts_i)),
            (payload::TS_R, selector::body(&ts_r)),
        ];
        let (spis, ts) = ((own, spi), (ts_i, ts_r));
        let new = New { is_initiator: false, spis, suite, nonces, shared, ts, replaces };
        self.add_child(now, sa, new);
        Ok(answer)
    }
    /// Installs the first child SA of an association that was initiated here.
    ///
    /// # Errors
    /// The reason, as text.
    pub(super) fn take_first_child(
        &mut self,
        now: f64,
        sa: &mut Sa,
        content: &Content<'_>,
    ) -> Result<(), String> {
        if let Some(why) = content.error() {
            return Err(format!("refused by the peer with notify {}", why.kind));
        }
        let nonces = sa.origin.nonces.clone();
        let own = sa.child_spi;
        let new = self.accepted(sa, content, own, (&nonces.0, &nonces.1))?;
        self.add_child(now, sa, new);
        Ok(())
    }
    /// Validates the peer's response to the offer of a child SA.
    ///
    /// # Errors
    /// How the response differs from the offer, as text.
    pub(super) fn accepted<'a>(
        &self,
        sa: &Sa,
        content: &Content<'_>,
        own: u32,
        nonces: (&'a [u8], &'a [u8]),
    ) -> Result<New<'a>, String> {
        let profile = self.profiles.get(&sa.profile).cloned().unwrap_or_default();
        let chosen =
            choose(&profile, content).ok_or("the peer chose algorithms that were not offered")?;
        let (_, spi, suite) = chosen;
        let (Some(ts_i), Some(ts_r)) = (&content.ts_i, &content.ts_r) else {
            return Err("traffic selectors are missing".to_owned());
        };
        let (own_ts, other_ts) = selectors(&profile, &sa.ends);
        let is_within = |found: &[Selector], offered: &[Selector]| {
            let is_in = |one: &Selector| offered.iter().any(|whole| whole.covers(one));
            !found.is_empty() && found.iter().all(is_in)
        };
        if !is_within(ts_i, &own_ts) || !is_within(ts_r, &other_ts) {
            return Err("the peer's traffic selectors are wider than those offered".to_owned());
        }
        let ts = (ts_i.clone(), ts_r.clone());
        let spis = (own, spi);
        Ok(New { is_initiator: true, spis, suite, nonces, shared: None, ts, replaces: None })
    }
    /// Creates and installs a child SA.
    pub(super) fn add_child(&mut self, now: f64, sa: &mut Sa, new: New<'_>) -> u32 {
        let prf = sa.suite.map_or(0, |suite| suite.prf);
        sa.nonces = (new.nonces.0.to_vec(), new.nonces.1.to_vec());
        let keys = child_keys(prf, &sa.keys.d, &new.suite, new.shared, new.nonces);
        let profile = self.profiles.get(&sa.profile).cloned().unwrap_or_default();
        let id = self.next_child;
        self.next_child = id.wrapping_add(1);
        let life = profile.lifetime;
        let is_timed = life.seconds > 0 && new.is_initiator;
        let rekey_at = match is_timed {
            true => {
                let jitter = self.chance(life.jitter.into());
                now + (life.seconds as f64 - jitter).max(HANDOVER)
            }
            false => f64::INFINITY,
        };
        let (keys_out, keys_in) = match new.is_initiator {
            true => (keys.0.clone(), keys.1.clone()),
            false => (keys.1.clone(), keys.0.clone()),
        };
        let has_nat = sa.nat.0 || sa.nat.1;
        self.acts.push(Act::Install(Box::new(Install {
            child: id,
            profile: sa.profile.clone(),
            ends: sa.ends,
            has_udp: has_nat || profile.has_udp,
            spis: new.spis,
            suite: new.suite,
            keys: (keys_in, keys_out),
            ts: match new.is_initiator {
                true => new.ts.clone(),
                false => (new.ts.1.clone(), new.ts.0.clone()),
            },
            replaces: new.replaces,
            is_ready: new.is_initiator,
        })));
        if let Some(old) = sa.children.iter_mut().find(|child| Some(child.id) == new.replaces) {
            let wait = if new.is_initiator { HANDOVER } else { HANDOVER_THERE };
            old.goes_at = Some(now + wait.max(f64::from(life.handover)));
            old.is_replaced_here = new.is_initiator;
        }
        let (spi_in, spi_out) = new.spis;
        self.child_spis.insert(spi_in);
        sa.children.push(Child {
            id,
            is_initiator: new.is_initiator,
            spi_in,
            spi_out,
            suite: new.suite,
            keys,
            ts: new.ts,
            born: now,
            rekey_at,
            goes_at: None,
            is_replaced_here: false,
            is_spent: false,
        });
        id
    }
    pub(super) fn remove_child(&mut self, sa: &mut Sa, id: u32) {
        if let Some(at) = sa.children.iter().position(|child| child.id == id) {
            self.child_spis.remove(&sa.children.remove(at).spi_in);
            self.acts.push(Act::Remove(id));
        }
    }
    /// Handles CREATE_CHILD_SA: a new child SA, or a rekeyed child SA or association.
    pub(super) fn take_create(&mut self, now: f64, sa: &mut Sa, (id, plain): (u32, Plain)) {
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        let of = (exchange::CREATE_CHILD_SA, id);
        let is_ike = content
            .proposals
            .as_deref()
            .and_then(<[_]>::first)
            .is_some_and(|p| p.protocol == protocol::IKE);
        if is_ike {
            return self.take_rekey(now, sa, (id, plain));
        }
        if content.nonce.is_none() {
            return self.refuse(now, sa, of, notify::INVALID_SYNTAX);
        }
        if content.notify(notify::REKEY_SA).is_some() {
            self.count(sa.ends.node, Noted::Rekey);
            sa.stats.rekeys = sa.stats.rekeys.saturating_add(1);
        }
        if let Err(why) = self.replaced_child(sa, &content) {
            return self.refuse(now, sa, of, why);
        }
        let Some(value) = content.key_exchange else {
            return self.answer_child(now, sa, (id, plain), None);
        };
        // The public value must be of the chosen group; otherwise that group is requested.
        let profile = self.profiles.get(&sa.profile).cloned().unwrap_or_default();
        let Some((.., suite)) = choose(&profile, &content) else {
            return self.refuse(now, sa, of, notify::NO_PROPOSAL_CHOSEN);
        };
        match suite.group {
            Some(group) if value.public.len() == group.public_len() => {
                let job = Job::Respond(group, value.public.to_vec());
                self.compute(sa, job, Waiting::Child(id, plain));
            }
            _ => self.refuse(now, sa, of, notify::NO_PROPOSAL_CHOSEN),
        }
    }
    /// The child SA that a request replaces, if any.
    fn replaced_child(&self, sa: &Sa, content: &Content<'_>) -> Result<Option<u32>, u16> {
        let Some(named) = content.notify(notify::REKEY_SA) else {
            // A tunnel has one child SA at a time.
            let is_first = sa.live().next().is_none();
            return is_first.then_some(None).ok_or(notify::NO_ADDITIONAL_SAS);
        };
        // Some peers declare an SPI length of 0 but send the SPI.
        let spi = if named.spi.is_empty() { named.data } else { named.spi };
        let spi = <[u8; 4]>::try_from(spi).map(u32::from_be_bytes);
        let spi = spi.map_err(|_| notify::INVALID_SYNTAX)?;
        let mut known = sa.children.iter().filter(|child| child.spi_out == spi);
        if known.clone().any(|child| child.goes_at.is_some()) {
            return Err(notify::TEMPORARY_FAILURE);
        }
        let is_deleted = |child: u32| {
            let ask = sa.request.as_ref().map(|request| &request.ask);
            matches!(ask, Some(super::ask::Ask::DeleteChild(gone)) if *gone == child)
        };
        let child = known.next().ok_or(notify::CHILD_SA_NOT_FOUND)?;
        let is_replacing = sa
            .request
            .as_ref()
            .is_some_and(|request| matches!(request.ask, super::ask::Ask::Rekey { .. }));
        if is_deleted(child.id) || is_replacing || sa.children.len() >= MOST_CHILDREN {
            return Err(notify::TEMPORARY_FAILURE);
        }
        Ok(Some(child.id))
    }
    /// Answers a request for a child SA, after its own key exchange if it has one.
    pub(super) fn answer_child(
        &mut self,
        now: f64,
        sa: &mut Sa,
        (id, plain): (u32, Plain),
        done: Option<Done>,
    ) {
        let of = (exchange::CREATE_CHILD_SA, id);
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        let (public, shared) = match done {
            None => (None, None),
            Some(Done::Responded(public, shared)) => (Some(public), Some(shared)),
            Some(_) => return self.refuse(now, sa, of, notify::INVALID_SYNTAX),
        };
        let replaces = match self.replaced_child(sa, &content) {
            Ok(replaces) => replaces,
            Err(why) => return self.refuse(now, sa, of, why),
        };
        let Some(own) = self.nonce() else {
            return self.refuse(now, sa, of, notify::TEMPORARY_FAILURE);
        };
        let other = content.nonce.unwrap_or_default();
        let made = self.make_child(now, sa, &content, (other, &own), (shared.as_ref(), replaces));
        let mut made = match made {
            Ok(made) => made,
            Err(why) => return self.refuse(now, sa, of, why),
        };
        let last = sa.children.last().map(|child| child.id);
        if let (Some(old), Some(new)) = (replaces, last) {
            self.note_rival(sa, old, (new, other.min(&own[..]).to_vec()));
        }
        made.insert(1, (payload::NONCE, own));
        if let (Some(public), Some(value)) = (public, content.key_exchange) {
            let front = [&value.group.to_be_bytes()[..], &[0, 0]].concat();
            made.insert(2, (payload::KEY_EXCHANGE, [&front[..], &public].concat()));
        }
        self.respond(now, sa, of, &joined(Chain::default(), made));
    }
}

/// The first acceptable proposal: its number, the peer's SPI, and the algorithms.
fn choose(profile: &Profile, content: &Content<'_>) -> Option<(u8, u32, EspSuite)> {
    let group = content.key_exchange.map(|value| value.group);
    content.proposals.iter().flatten().find_map(|p| {
        let suite = EspSuite::choose(p, group, |suite| profile.esp.accepts(suite))?;
        let spi = u32::from_be_bytes(*p.spi.first_chunk()?);
        debug_assert!(suite.group.is_none_or(|g| Group::of(g.number()).is_some()));
        (spi > 255).then_some((p.number, spi, suite))
    })
}
