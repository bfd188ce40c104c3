//! Rekeying of associations (RFC 7296 sections 1.3.2 and 2.8): child SAs move to the new one.

use super::ask::{Ask, Task};
use super::waiting::{Plain, Waiting};
use super::{Machine, Noted, Sa, State};
use crate::codec::number::{exchange, notify, payload};
use crate::codec::{Chain, Content, Proposal};
use crate::crypto::job::{Done, Job};
use crate::crypto::keys::Hidden;
use crate::crypto::suite::Suite;

/// Seconds until the next attempt after the peer reported a temporary failure.
const LATER: f64 = 10.0;
/// Seconds after which a replaced association is deleted in any case.
const LAST: f64 = 60.0;

fn push_values(chain: &mut Chain, suite: &Suite, public: &[u8], nonce: &[u8]) {
    chain.push(payload::NONCE, nonce);
    let front = [&suite.group.number().to_be_bytes()[..], &[0, 0]].concat();
    chain.push(payload::KEY_EXCHANGE, &[&front[..], public].concat());
}

impl Machine {
    /// Starts to rekey an association.
    pub(super) fn begin_rekey(&mut self, sa: &mut Sa) {
        if let Some(suite) = sa.suite {
            self.compute(sa, Job::Generate(suite.group), Waiting::Replace);
        }
    }
    pub(super) fn send_rekey(&mut self, now: f64, sa: &mut Sa, done: Done) {
        let (Some(suite), Done::Generated(private, public)) = (sa.suite, done) else {
            return self.rekey_later(now, sa);
        };
        let Some(nonce) = self.nonce() else { return self.rekey_later(now, sa) };
        // Until the response arrives, the new SPI belongs to the old association.
        let Some(spi) = self.new_spi(sa.index) else { return self.rekey_later(now, sa) };
        let offer = suite.accept(1, spi.to_be_bytes().to_vec());
        let mut chain = Chain::default();
        chain.push(payload::SA, &Proposal::body(&[offer]));
        push_values(&mut chain, &suite, &public, &nonce);
        let ask = Ask::Rekey { spi, nonce, group: suite.group, private: Some(private) };
        self.ask(now, sa, exchange::CREATE_CHILD_SA, &chain, ask);
    }
    pub(super) fn rekey_answered(
        &mut self,
        now: f64,
        sa: &mut Sa,
        mut ask: Ask,
        content: &Content<'_>,
        plain: Plain,
    ) {
        let Ask::Rekey { spi, group, private, .. } = &mut ask else { return };
        let job = match (content.error(), content.key_exchange, private.take()) {
            (None, Some(value), Some(private)) if value.group == group.number() => {
                Job::Agree(*group, private, value.public.to_vec())
            }
            _ => {
                self.by_spi.remove(spi);
                return self.rekey_later(now, sa);
            }
        };
        self.compute(sa, job, Waiting::Replaced(ask, plain));
    }
    pub(super) fn replaced(&mut self, now: f64, sa: &mut Sa, ask: Ask, plain: &Plain, done: Done) {
        let Ask::Rekey { spi, nonce, group, .. } = ask else { return };
        self.by_spi.remove(&spi);
        let (Ok(content), Done::Shared(shared)) = (Content::read(plain.0, &plain.1), done) else {
            return self.rekey_later(now, sa);
        };
        let chosen = content.proposals.as_deref().and_then(<[_]>::first);
        let suite = chosen.and_then(|p| Suite::choose(p, Some(group.number()), |_| true));
        let other = chosen.and_then(|p| p.spi.first_chunk()).map(|spi| u64::from_be_bytes(*spi));
        let (Some(suite), Some(other), Some(theirs)) = (suite, other, content.nonce) else {
            return self.rekey_later(now, sa);
        };
        let (spis, nonces) = ((spi, other), (nonce, theirs.to_vec()));
        let new = self.successor(now, sa, true, suite, (spis, nonces), shared);
        let Some(mut new) = new else { return self.rekey_later(now, sa) };
        new.heard = now;
        self.sas.insert(new.index, new);
        // Who replaced it deletes it.
        sa.tasks.clear();
        self.say_delete(now, sa);
    }
    /// The association is replaced at another try.
    pub(super) fn rekey_later(&mut self, now: f64, sa: &mut Sa) {
        sa.rekey_at = now + LATER + self.chance(LATER);
    }
    /// The association that replaces another one and takes over its child SAs.
    fn successor(
        &mut self,
        now: f64,
        sa: &mut Sa,
        is_initiator: bool,
        suite: Suite,
        (spis, nonces): ((u64, u64), (Vec<u8>, Vec<u8>)),
        shared: Hidden,
    ) -> Option<Sa> {
        let index = self.next;
        let mut new = Sa::new(index, is_initiator, sa.ends, now);
        new.spis = spis;
        new.suite = Some(suite);
        new.origin.nonces = nonces;
        new.origin.shared = shared;
        let old = sa.suite.map_or(0, |suite| suite.prf);
        if !new.make_keys(Some((old, &sa.keys.d)), false) {
            return None;
        }
        new.origin.shared = Hidden::default();
        self.next += 1;
        self.by_spi.insert(new.own_spi(), index);
        new.profile.clone_from(&sa.profile);
        // The identities stay with their ends, although the roles may have changed.
        new.ids = match sa.is_initiator == is_initiator {
            true => sa.ids.clone(),
            false => (sa.ids.1.clone(), sa.ids.0.clone()),
        };
        new.state = State::Established;
        new.nat = sa.nat;
        new.hashes.clone_from(&sa.hashes);
        new.takes_parts = sa.takes_parts;
        new.children = std::mem::take(&mut sa.children);
        // Those that were to be replaced still are.
        new.tasks.extend(sa.tasks.drain(..).filter(|t| matches!(t, Task::RekeyChild(_))));
        new.rekey_at = now + 86_400.0 - self.chance(3_600.0);
        self.log(format!("{}: association with {} is rekeyed", sa.profile, sa.ends.remote.0));
        Some(new)
    }
    /// Handles the peer's request to rekey the association.
    pub(super) fn take_rekey(&mut self, now: f64, sa: &mut Sa, (id, plain): (u32, Plain)) {
        let of = (exchange::CREATE_CHILD_SA, id);
        self.count(sa.ends.node, Noted::Rekey);
        sa.stats.rekeys = sa.stats.rekeys.saturating_add(1);
        // If both ends rekey at once, each retries after a random time; the same if a child SA
        // is being created or deleted (section 2.25.2).
        let is_busy = sa
            .request
            .as_ref()
            .is_some_and(|request| !matches!(request.ask, Ask::Probe | Ask::Delete));
        if is_busy {
            return self.refuse(now, sa, of, notify::TEMPORARY_FAILURE);
        }
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        let Some((_, suite, value)) = self.chosen(sa, &content) else {
            return self.refuse(now, sa, of, notify::NO_PROPOSAL_CHOSEN);
        };
        if suite.group.number() != value.group || value.public.len() != suite.group.public_len() {
            let mut chain = Chain::default();
            let group = suite.group.number().to_be_bytes();
            chain.notify(notify::INVALID_KE_PAYLOAD, &group);
            return self.respond(now, sa, of, &chain);
        }
        let job = Job::Respond(suite.group, value.public.to_vec());
        self.compute(sa, job, Waiting::ReplaceAnswer(id, plain));
    }
    fn chosen<'a>(
        &self,
        sa: &Sa,
        content: &Content<'a>,
    ) -> Option<(crate::codec::Proposal, Suite, crate::codec::KeyExchange<'a>)> {
        let value = content.key_exchange?;
        let wish = self.profiles.get(&sa.profile).map(|p| p.ike).unwrap_or_default();
        content.proposals.iter().flatten().find_map(|p| {
            let suite = Suite::choose(p, Some(value.group), |suite| wish.allows(suite))?;
            (p.spi.len() == 8).then(|| (p.clone(), suite, value))
        })
    }
    pub(super) fn answer_rekey(
        &mut self,
        now: f64,
        sa: &mut Sa,
        (id, plain): (u32, Plain),
        done: Done,
    ) {
        let of = (exchange::CREATE_CHILD_SA, id);
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        let Done::Responded(public, shared) = done else {
            return self.refuse(now, sa, of, notify::INVALID_SYNTAX);
        };
        let (Some((proposal, suite, _)), Some(theirs)) = (self.chosen(sa, &content), content.nonce)
        else {
            return self.refuse(now, sa, of, notify::INVALID_SYNTAX);
        };
        let other = proposal.spi.first_chunk().map_or(0, |spi| u64::from_be_bytes(*spi));
        let Some(nonce) = self.nonce() else {
            return self.refuse(now, sa, of, notify::TEMPORARY_FAILURE);
        };
        let Some(spi) = self.new_spi(self.next) else {
            return self.refuse(now, sa, of, notify::TEMPORARY_FAILURE);
        };
        let mut chain = Chain::default();
        let accept = suite.accept(proposal.number, spi.to_be_bytes().to_vec());
        chain.push(payload::SA, &Proposal::body(&[accept]));
        push_values(&mut chain, &suite, &public, &nonce);
        let (spis, nonces) = ((other, spi), (theirs.to_vec(), nonce));
        let Some(new) = self.successor(now, sa, false, suite, (spis, nonces), shared) else {
            self.by_spi.remove(&spi);
            return self.refuse(now, sa, of, notify::NO_PROPOSAL_CHOSEN);
        };
        self.respond(now, sa, of, &chain);
        self.sas.insert(new.index, new);
        sa.state = State::Replaced;
        sa.goes_at = Some(now + LAST);
    }
}
