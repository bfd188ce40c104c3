//! IKE_AUTH as responder (RFC 7296 sections 1.2 and 2.15).

use super::prove::{Right, verdict};
use super::waiting::{Plain, Waiting};
use super::{Machine, Sa, State};
use crate::codec::number::{exchange, notify, payload};
use crate::codec::{Chain, Content, Id};
use crate::crypto::job::Done;

/// Bytes of an unknown identity that are logged.
const MOST_SHOWN: usize = 128;

impl Machine {
    /// The profile for a peer, by the identities that it names and the negotiated algorithms.
    fn profile_for(&self, sa: &Sa, remote: &Id, local: Option<&Id>) -> Option<String> {
        let is_for = |name: &&String| {
            self.profiles.get(*name).is_some_and(|p| {
                p.is_for(remote, local) && sa.suite.is_some_and(|suite| p.ike.allows(&suite))
            })
        };
        let all = self.profiles.keys().filter(is_for);
        all.max_by_key(|name| self.profiles.get(*name).map(|p| p.closeness())).cloned()
    }
    /// Handles a request with the initiator's authentication.
    pub(super) fn take_auth(&mut self, now: f64, sa: &mut Sa, (id, plain): (u32, Plain)) {
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        let Some(remote) = content.id_i.clone() else {
            return self.refuse_auth(now, sa, id, "it sent no identity");
        };
        let Some(profile) = self.profile_for(sa, &remote, content.id_r.as_ref()) else {
            let shown = &remote.data[..remote.data.len().min(MOST_SHOWN)];
            let text = String::from_utf8_lossy(shown);
            return self.refuse_auth(now, sa, id, &format!("no profile matches `{text}'"));
        };
        sa.profile = profile;
        sa.ids.0 = Some(remote.clone());
        match self.judge(sa, &content, &remote) {
            Ok(Right::Yes) => self.checked(now, sa, (id, plain), &Done::Verified),
            Ok(Right::Ask(job)) => self.compute(sa, job, Waiting::Check(id, plain)),
            Err(why) => self.refuse_auth(now, sa, id, &why),
        }
    }
    fn refuse_auth(&mut self, now: f64, sa: &mut Sa, id: u32, why: &str) {
        self.log(format!("{}: authentication failed: {why}", sa.ends.remote.0));
        self.refuse(now, sa, (exchange::IKE_AUTH, id), notify::AUTHENTICATION_FAILED);
        self.fail(now, sa);
    }
    pub(super) fn checked(
        &mut self,
        now: f64,
        sa: &mut Sa,
        (id, plain): (u32, Plain),
        done: &Done,
    ) {
        if let Err(why) = verdict(done) {
            return self.refuse_auth(now, sa, id, why);
        }
        let asked = Content::read(plain.0, &plain.1).ok().and_then(|content| content.id_r);
        let profile = self.profiles.get(&sa.profile);
        let own = match (profile.and_then(|p| p.local_id.as_ref()), asked) {
            (Some(own), _) => super::on_wire(own),
            (None, Some(asked)) => asked,
            (None, None) => crate::crypto::certificate::id_of(sa.ends.local.0),
        };
        sa.ids.1 = Some(own.clone());
        match self.prove(sa, &own) {
            Ok(Ok((method, proof))) => {
                self.proved(now, sa, (id, plain), Done::Signed(method, proof));
            }
            Ok(Err(job)) => self.compute(sa, job, Waiting::Prove(id, plain)),
            Err(why) => self.refuse_auth(now, sa, id, &why),
        }
    }
    /// Responds with our own authentication and the first child SA.
    pub(super) fn proved(&mut self, now: f64, sa: &mut Sa, (id, plain): (u32, Plain), done: Done) {
        let Done::Signed(method, proof) = done else {
            return self.refuse_auth(now, sa, id, "cannot sign with the local key");
        };
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        if content.notify(notify::INITIAL_CONTACT).is_some() {
            self.replace_others(sa);
        }
        self.establish(now, sa);
        let mut chain = Chain::default();
        if let Some(own) = &sa.ids.1 {
            chain.push(payload::ID_R, &own.body());
        }
        self.push_certificates(sa, &mut chain);
        chain.typed(payload::AUTH, method, &proof);
        let nonces = sa.origin.nonces.clone();
        match self.make_child(now, sa, &content, (&nonces.0, &nonces.1), (None, None)) {
            Ok(made) => chain = super::child::joined(chain, made),
            Err(why) => {
                self.log(format!("{}: no child SA: notify {why}", sa.profile));
                chain.notify(why, &[]);
            }
        }
        self.respond(now, sa, (exchange::IKE_AUTH, id), &chain);
    }
    /// Deletes other associations with a peer that has announced this one as its first.
    fn replace_others(&mut self, sa: &Sa) {
        let is_same = |other: &Sa| {
            other.index != sa.index
                && other.state == State::Established
                && other.own_ids() == sa.own_ids()
        };
        let old: Vec<_> = self.sas.values().filter(|o| is_same(o)).map(|o| o.index).collect();
        for index in old {
            self.drive(index, |_, old| old.state = State::Dead);
        }
    }
}
