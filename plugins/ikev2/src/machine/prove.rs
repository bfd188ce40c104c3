//! IKE_AUTH as initiator (RFC 7296 sections 1.2 and 2.15).

use subtle::ConstantTimeEq;

use super::ask::Ask;
use super::waiting::{Plain, Waiting};
use super::{Machine, NO_RANDOM, Sa, State};
use crate::codec::number::{X509, auth, exchange, notify, payload};
use crate::codec::{Chain, Content, Id, Proposal, selector};
use crate::crypto::job::{Done, Job, Proof};
use crate::crypto::keys::{Hidden, shared_key_proof, signed};

/// Seconds until an association is rekeyed.
const LIFE: f64 = 86_400.0;
const LIFE_JITTER: f64 = 3_600.0;
/// Limit of authorities in a certificate request.
const MOST_AUTHORITIES: usize = 32;

/// Outcome of checking the peer's authentication.
pub(super) enum Right {
    /// The authentication is valid.
    Yes,
    /// This computation decides.
    Ask(Job),
}

/// The bytes that one end's authentication covers.
pub(super) fn proved_bytes(sa: &Sa, of_initiator: bool, id: &Id) -> Vec<u8> {
    let prf = sa.suite.map_or(0, |suite| suite.prf);
    let (message, nonce, p) = match of_initiator {
        true => (&sa.first.0, &sa.origin.nonces.1, &sa.keys.pi),
        false => (&sa.first.1, &sa.origin.nonces.0, &sa.keys.pr),
    };
    signed(prf, message, nonce, p, &id.body())
}

/// Whether a proof is right.
///
/// # Errors
/// In words, what is wrong with it.
pub(super) fn verdict(done: &Done) -> Result<(), &str> {
    match done {
        Done::Verified => Ok(()),
        Done::Refused(why) => Err(why),
        _ => Err("it could not be checked"),
    }
}

impl Machine {
    /// Checks the peer's authentication.
    ///
    /// # Errors
    /// The reason why it is invalid, as text.
    pub(super) fn judge(&self, sa: &Sa, content: &Content<'_>, id: &Id) -> Result<Right, String> {
        let profile = self.profiles.get(&sa.profile).ok_or("its profile is gone")?;
        let wanted = profile.auth.as_ref().ok_or("the profile has no authentication")?;
        let proof = content.auth.ok_or("it sent no authentication")?;
        let bytes = proved_bytes(sa, !sa.is_initiator, id);
        let is_shared = wanted.method == auth::SHARED_KEY;
        if is_shared != (proof.kind == auth::SHARED_KEY) {
            return Err(format!("its authentication method {} is not the profile's", proof.kind));
        }
        if is_shared {
            let prf = sa.suite.map_or(0, |suite| suite.prf);
            let own = shared_key_proof(prf, &wanted.data.0, &bytes);
            let is_right = bool::from(own.ct_eq(proof.data));
            return is_right.then_some(Right::Yes).ok_or("the shared keys differ".to_owned());
        }
        let sent = content.certificates.iter().filter(|c| c.kind == X509);
        Ok(Right::Ask(Job::Verify(Box::new(Proof {
            trusted: wanted.certificates.clone(),
            sent: sent.map(|c| c.data.to_vec()).collect(),
            id: id.clone(),
            signature: (proof.kind, proof.data.to_vec()),
            signed: bytes,
        }))))
    }
    /// Computes our authentication, or returns the job that computes it.
    ///
    /// # Errors
    /// The reason, as text.
    pub(super) fn prove(&self, sa: &Sa, id: &Id) -> Result<Result<(u8, Vec<u8>), Job>, String> {
        let profile = self.profiles.get(&sa.profile).ok_or("its profile is gone")?;
        let wanted = profile.auth.as_ref().ok_or("the profile has no authentication")?;
        let bytes = proved_bytes(sa, sa.is_initiator, id);
        if wanted.method == auth::SHARED_KEY {
            let prf = sa.suite.map_or(0, |suite| suite.prf);
            let proof = shared_key_proof(prf, &wanted.data.0, &bytes);
            return Ok(Ok((auth::SHARED_KEY, proof)));
        }
        let key = self.key.clone().ok_or("no local private key is configured")?;
        Ok(Err(Job::Sign(key, bytes, sa.hashes.clone())))
    }
    /// Whether the profile uses signatures.
    pub(super) fn signs(&self, sa: &Sa) -> bool {
        let profile = self.profiles.get(&sa.profile);
        let auth = profile.and_then(|p| p.auth.as_ref());
        auth.is_some_and(|auth| auth.method != crate::codec::number::auth::SHARED_KEY)
    }
    pub(super) fn push_certificates(&self, sa: &Sa, chain: &mut Chain) {
        if self.signs(sa) {
            for own in &self.certificates {
                chain.push(payload::CERTIFICATE, &[&[X509], &own.der[..]].concat());
            }
        }
    }
    /// Requests a certificate from the authorities that the profile trusts, or all profiles while
    /// the profile is not known.
    pub(super) fn push_request(&self, profile: Option<&str>, chain: &mut Chain) {
        let meant = self.profiles.values().filter(|p| profile.is_none_or(|name| p.name == name));
        let all = meant.filter_map(|p| p.auth.as_ref()).flat_map(|auth| &auth.certificates);
        let mut hashes: Vec<_> = all.filter(|c| c.is_authority).map(|c| &c.key_hash[..]).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(MOST_AUTHORITIES);
        let hashes = hashes.concat();
        if !hashes.is_empty() {
            chain.push(payload::CERTIFICATE_REQUEST, &[&[X509], &hashes[..]].concat());
        }
    }
    /// Sends IKE_AUTH with our authentication, once the shared secret is computed.
    pub(super) fn prove_first(&mut self, now: f64, sa: &mut Sa, done: Done) {
        let Done::Shared(shared) = done else {
            return self.give_up(sa, "the peer's public value is invalid");
        };
        sa.origin.shared = shared;
        if !sa.make_keys(None, false) {
            return self.give_up(sa, "key lengths do not match the algorithms");
        }
        let Some(profile) = self.profiles.get(&sa.profile) else {
            return self.give_up(sa, "its profile is gone");
        };
        let own = profile.own_id(sa.ends.local.0);
        let other = profile.remote_id.as_ref().map(super::on_wire);
        sa.ids = (Some(own.clone()), other);
        match self.prove(sa, &own) {
            Ok(Ok((method, proof))) => self.send_auth(now, sa, Done::Signed(method, proof)),
            Ok(Err(job)) => self.compute(sa, job, Waiting::ProveFirst),
            Err(why) => self.give_up(sa, &why),
        }
    }
    pub(super) fn send_auth(&mut self, now: f64, sa: &mut Sa, done: Done) {
        let Done::Signed(method, proof) = done else {
            return self.give_up(sa, "cannot sign with the local key");
        };
        let Some(spi) = self.new_child_spi() else { return self.give_up(sa, NO_RANDOM) };
        sa.child_spi = spi;
        let profile = self.profiles.get(&sa.profile).cloned().unwrap_or_default();
        let Ok(offer) = profile.esp.offer(sa.child_spi, None) else {
            return self.give_up(sa, "the ESP algorithms are not supported");
        };
        let mut chain = Chain::default();
        if let Some(own) = &sa.ids.0 {
            chain.push(payload::ID_I, &own.body());
        }
        self.push_certificates(sa, &mut chain);
        if self.signs(sa) {
            self.push_request(Some(&sa.profile), &mut chain);
        }
        if let Some(other) = &sa.ids.1 {
            chain.push(payload::ID_R, &other.body());
        }
        chain.typed(payload::AUTH, method, &proof);
        chain.push(payload::SA, &Proposal::body(&offer));
        let (own, other) = super::child::selectors(&profile, &sa.ends);
        chain.push(payload::TS_I, &selector::body(&own));
        chain.push(payload::TS_R, &selector::body(&other));
        if !self.has_other(sa) {
            chain.notify(notify::INITIAL_CONTACT, &[]);
        }
        self.ask(now, sa, exchange::IKE_AUTH, &chain, Ask::Auth);
    }
    /// Whether there is another association with the same peer.
    fn has_other(&self, sa: &Sa) -> bool {
        let is_same = |other: &Sa| {
            other.index != sa.index
                && other.state == State::Established
                && (other.own_ids().1 == sa.own_ids().1 || other.ends.remote.0 == sa.ends.remote.0)
        };
        self.sas.values().any(is_same)
    }
    /// Handles the response with the peer's authentication.
    pub(super) fn take_auth_answer(
        &mut self,
        now: f64,
        sa: &mut Sa,
        content: &Content<'_>,
        plain: Plain,
    ) {
        let why = content.error().map(|n| n.kind);
        let Some(id) = content.id_r.clone() else {
            let why = why.map_or("it sent no identity".to_owned(), |kind| match kind {
                notify::AUTHENTICATION_FAILED => "rejected by the peer".to_owned(),
                kind => format!("refused with notify {kind}"),
            });
            return self.give_up(sa, &why);
        };
        if sa.ids.1.as_ref().is_some_and(|wanted| *wanted != id) {
            return self.reject(now, sa, "its identity does not match the profile");
        }
        sa.ids.1 = Some(id.clone());
        match self.judge(sa, content, &id) {
            Ok(Right::Yes) => self.checked_answer(now, sa, &plain, &Done::Verified),
            Ok(Right::Ask(job)) => self.compute(sa, job, Waiting::CheckAnswer(plain)),
            Err(why) => self.reject(now, sa, &why),
        }
    }
    pub(super) fn checked_answer(&mut self, now: f64, sa: &mut Sa, plain: &Plain, done: &Done) {
        if let Err(why) = verdict(done) {
            return self.reject(now, sa, why);
        }
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        self.establish(now, sa);
        if let Err(why) = self.take_first_child(now, sa, &content) {
            self.log(format!("{}: no child SA: {why}", sa.profile));
        }
    }
    /// Marks an association as established after both ends have authenticated.
    pub(super) fn establish(&mut self, now: f64, sa: &mut Sa) {
        sa.state = State::Established;
        if let Some(to) = sa.proved_from.take() {
            (sa.ends.local.1, sa.ends.remote) = to;
        }
        sa.origin.shared = Hidden::default();
        sa.goes_at = None;
        sa.first = (Vec::new(), Vec::new());
        sa.rekey_at = now + LIFE - self.chance(LIFE_JITTER);
        self.forget_half_open(sa);
        let (profile, remote) = (&sa.profile, sa.ends.remote.0);
        self.log(format!("{profile}: association with {remote} is established"));
    }
    /// Rejects the peer's authentication and notifies it.
    fn reject(&mut self, now: f64, sa: &mut Sa, why: &str) {
        self.log(format!("{}: {}: {why}", sa.profile, sa.ends.remote.0));
        let mut chain = Chain::default();
        chain.notify(notify::AUTHENTICATION_FAILED, &[]);
        self.ask(now, sa, exchange::INFORMATIONAL, &chain, Ask::Delete);
        self.fail(now, sa);
    }
    pub(super) fn give_up(&mut self, sa: &mut Sa, why: &str) {
        self.log(format!("{}: {}: {why}", sa.profile, sa.ends.remote.0));
        sa.state = State::Dead;
    }
    /// A random number below `most`, 0 if the random generator fails: only rekeying is spread less.
    pub(super) fn chance(&self, most: f64) -> f64 {
        let mut bytes = [0; 4];
        let _ = (self.random)(&mut bytes);
        most * f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX)
    }
}
