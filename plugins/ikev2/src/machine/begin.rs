//! IKE_SA_INIT (RFC 7296 section 1.2): key exchange, cookies, NAT detection.

use std::net::IpAddr;

use wire::ip::source_of;

use super::ask::{Ask, RETRY, Request};
use super::waiting::Waiting;
use super::{
    Ends, HALF_OPEN_COOKIES, MOST, MOST_HALF_OPEN, MOST_OF_SOURCE, Machine, NATT_PORT, NO_RANDOM,
    Noted, PORT, Profile, SOURCE_COOKIES, Sa, State,
};
use crate::codec::number::{exchange, notify, payload, transform};
use crate::codec::{Chain, Content, Flaw, Header, Proposal, flag, message};
use crate::crypto::group::Group;
use crate::crypto::job::{Done, Job};
use crate::crypto::signature::HASHES;
use crate::crypto::suite::{IkeWish, Suite};

/// Seconds until an unauthenticated association is deleted.
const PATIENCE: f64 = 30.0;
/// Limit of IKE_SA_INIT requests for one association, with other groups or cookies.
const MOST_TRIES: u32 = 5;

/// Hash of an address and port for NAT detection (section 2.23).
fn nat_hash(spis: (u64, u64), (addr, port): (IpAddr, u16)) -> Vec<u8> {
    let mut context = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(&spis.0.to_be_bytes());
    context.update(&spis.1.to_be_bytes());
    match addr {
        IpAddr::V4(addr) => context.update(&addr.octets()),
        IpAddr::V6(addr) => context.update(&addr.octets()),
    }
    context.update(&port.to_be_bytes());
    context.finish().as_ref().to_vec()
}

fn push_nat(chain: &mut Chain, spis: (u64, u64), ends: &Ends) {
    chain.notify(notify::NAT_DETECTION_SOURCE_IP, &nat_hash(spis, ends.local));
    chain.notify(notify::NAT_DETECTION_DESTINATION_IP, &nat_hash(spis, ends.remote));
}

/// Whether our address and the peer's address are translated.
fn find_nat(content: &Content<'_>, spis: (u64, u64), ends: &Ends) -> (bool, bool) {
    let is = |kind: u16, end| {
        let hash = nat_hash(spis, end);
        let mut all = content.notifies.iter().filter(|n| n.kind == kind).peekable();
        all.peek().is_some() && !all.any(|n| n.data == hash)
    };
    let local = is(notify::NAT_DETECTION_DESTINATION_IP, ends.local);
    (local, is(notify::NAT_DETECTION_SOURCE_IP, ends.remote))
}

fn push_abilities(chain: &mut Chain, takes_parts: bool, has_hashes: bool) {
    if takes_parts {
        chain.notify(notify::IKEV2_FRAGMENTATION_SUPPORTED, &[]);
    }
    if has_hashes {
        let hashes: Vec<u8> = HASHES.iter().flat_map(|hash| hash.to_be_bytes()).collect();
        chain.notify(notify::SIGNATURE_HASH_ALGORITHMS, &hashes);
    }
}

fn note_abilities(sa: &mut Sa, content: &Content<'_>) {
    sa.takes_parts = content.notify(notify::IKEV2_FRAGMENTATION_SUPPORTED).is_some();
    let hashes = content.notify(notify::SIGNATURE_HASH_ALGORITHMS).map_or(&[][..], |n| n.data);
    sa.hashes = hashes.as_chunks::<2>().0.iter().map(|h| u16::from_be_bytes(*h)).collect();
}

fn push_exchange(chain: &mut Chain, group: Group, public: &[u8], nonce: &[u8]) {
    let front = [&group.number().to_be_bytes()[..], &[0, 0]].concat();
    chain.push(payload::KEY_EXCHANGE, &[&front[..], public].concat());
    chain.push(payload::NONCE, nonce);
}

impl Machine {
    /// Initiates an association with the peer of a profile and returns its index.
    ///
    /// # Errors
    /// The reason, as text.
    pub fn initiate(&mut self, now: f64, profile: &str, ends: Ends) -> Result<u32, String> {
        let found = self.profiles.get(profile).ok_or_else(|| format!("no profile {profile}"))?;
        let offer = found.ike.offer()?;
        found.esp.offer(0, None)?;
        if found.auth.is_none() {
            return Err(format!("profile {profile} has no authentication"));
        }
        if self.sas.len() >= MOST {
            return Err(format!("the limit of {MOST} associations is reached"));
        }
        let group = offer[0].of(transform::GROUP).find_map(|t| Group::of(t.id));
        let group = group.ok_or("the profile has no group to offer")?;
        let index = self.next;
        self.next += 1;
        let mut sa = Sa::new(index, true, ends, now);
        let nonce = self.nonce().ok_or(NO_RANDOM)?;
        let spi = self.new_spi(index).ok_or(NO_RANDOM)?;
        sa.spis = (spi, 0);
        sa.profile = profile.to_owned();
        sa.origin.nonces.0 = nonce;
        sa.goes_at = Some(now + 4.0 * PATIENCE);
        self.begin(now, &mut sa, group);
        self.sas.insert(index, sa);
        Ok(index)
    }
    fn begin(&mut self, now: f64, sa: &mut Sa, group: Group) {
        sa.tries += 1;
        sa.private = None;
        // Until the response arrives, the group is the only algorithm that is known.
        sa.suite = None;
        sa.first_group = Some(group);
        match self.spares.remove(&group.number()) {
            Some((private, public)) => {
                self.send_init(now, sa, Done::Generated(private, public));
                self.prepare(group);
            }
            None => self.compute(sa, Job::Generate(group), Waiting::Begin),
        }
    }
    pub(super) fn send_init(&mut self, now: f64, sa: &mut Sa, done: Done) {
        let Done::Generated(private, public) = done else { return sa.state = State::Dead };
        sa.private = Some(private);
        sa.public = public;
        self.send_first(now, sa);
    }
    fn send_first(&mut self, now: f64, sa: &mut Sa) {
        let profile = self.profiles.get(&sa.profile);
        let offer = profile.and_then(|p| p.ike.offer().ok());
        let (Some(offer), Some(group)) = (offer, sa.first_group) else {
            return sa.state = State::Dead;
        };
        let mut chain = Chain::default();
        if !sa.cookie.is_empty() {
            chain.notify(notify::COOKIE, &sa.cookie);
        }
        chain.push(payload::SA, &Proposal::body(&offer));
        push_exchange(&mut chain, group, &sa.public, &sa.origin.nonces.0);
        if !profile.is_some_and(|p| p.is_natt_off) {
            push_nat(&mut chain, (sa.spis.0, 0), &sa.ends);
        }
        push_abilities(&mut chain, true, true);
        let (spi_i, exchange) = (sa.spis.0, exchange::IKE_SA_INIT);
        let header = Header { spi_i, spi_r: 0, next: 0, exchange, flags: flag::INITIATOR, id: 0 };
        sa.first.0 = message(&header, &chain, 0);
        let packets = vec![sa.first.0.clone()];
        sa.next_id = 1;
        sa.request = Some(Request {
            id: 0,
            exchange,
            packets: packets.clone(),
            again: now + RETRY,
            tries: 1,
            ask: Ask::Init,
        });
        self.send(now, sa, packets);
    }
    /// Handles the response to IKE_SA_INIT.
    pub(super) fn take_begun(
        &mut self,
        now: f64,
        sa: &mut Sa,
        ends: Ends,
        (header, bytes): (&Header, &[u8]),
        content: &Content<'_>,
    ) {
        let is_it = header.exchange == exchange::IKE_SA_INIT && header.is_response();
        if !sa.is_initiator || !is_it || sa.request.is_none() || sa.waiting.is_some() {
            return self.count(ends.node, Noted::InitIgnored);
        }
        if let Some(cookie) = content.notify(notify::COOKIE) {
            if sa.tries < MOST_TRIES && (1..=64).contains(&cookie.data.len()) {
                sa.tries += 1;
                sa.cookie = cookie.data.to_vec();
                self.send_first(now, sa);
            }
            return;
        }
        if let Some(other) = content.notify(notify::INVALID_KE_PAYLOAD) {
            return self.take_other_group(now, sa, other.data);
        }
        if let Some(why) = content.error() {
            // The response is not authenticated: requests to the peer continue (section 2.21.1).
            let (profile, kind) = (&sa.profile, why.kind);
            return self
                .log(format!("{profile}: the peer refuses the key exchange: notify {kind}"));
        }
        let profile = self.profiles.get(&sa.profile);
        let wish = profile.map(|p| p.ike).unwrap_or_default();
        let chosen = content.proposals.as_deref().and_then(<[_]>::first);
        let group = sa.first_group.map(Group::number);
        let suite = chosen.and_then(|p| Suite::choose(p, group, |suite| wish.allows(suite)));
        let suite = suite.filter(|suite| Some(suite.group.number()) == group);
        let (Some(suite), Some(value), Some(nonce)) = (suite, content.key_exchange, content.nonce)
        else {
            return self.count(ends.node, Noted::InitIgnored);
        };
        if Some(value.group) != group || header.spi_r == 0 {
            return self.count(ends.node, Noted::InitIgnored);
        }
        sa.suite = Some(suite);
        sa.spis.1 = header.spi_r;
        sa.origin.nonces.1 = nonce.to_vec();
        sa.first.1 = bytes.to_vec();
        sa.request = None;
        sa.heard = now;
        note_abilities(sa, content);
        let is_off = profile.is_some_and(|p| p.is_natt_off);
        sa.nat = if is_off { (false, false) } else { find_nat(content, sa.spis, &ends) };
        if (sa.nat.0 || sa.nat.1) && sa.ends.remote.1 == PORT {
            (sa.ends.local.1, sa.ends.remote.1) = (NATT_PORT, NATT_PORT);
        }
        if let Some(private) = sa.private.take() {
            let job = Job::Agree(suite.group, private, value.public.to_vec());
            self.compute(sa, job, Waiting::Begun);
        }
    }
    fn take_other_group(&mut self, now: f64, sa: &mut Sa, data: &[u8]) {
        let group = data.first_chunk().and_then(|group| Group::of(u16::from_be_bytes(*group)));
        let offer = self.profiles.get(&sa.profile).and_then(|p| p.ike.offer().ok());
        let is_offered = |group: &Group| {
            let mut all = offer.iter().flatten().flat_map(|p| p.of(transform::GROUP));
            all.any(|t| t.id == group.number()) && Some(*group) != sa.first_group
        };
        if let Some(group) = group.filter(is_offered).filter(|_| sa.tries < MOST_TRIES) {
            sa.request = None;
            self.begin(now, sa, group);
        }
    }
    /// Handles an IKE_SA_INIT request.
    pub(super) fn take_init(&mut self, now: f64, ends: Ends, header: &Header, bytes: &[u8]) {
        let node = ends.node;
        if header.spi_i == 0 || header.spi_r != 0 || header.id != 0 {
            return self.count(node, Noted::InitIgnored);
        }
        if let Some(index) = self.by_peer.get(&(header.spi_i, ends.remote.0)).copied() {
            return self.drive(index, |machine, sa| machine.repeat_init(now, sa, node, bytes));
        }
        let content = match Content::read(header.next, bytes.get(28..).unwrap_or_default()) {
            Ok(content) => content,
            Err(Flaw::Critical(kind)) => {
                return self.refuse_init(
                    ends,
                    header,
                    notify::UNSUPPORTED_CRITICAL_PAYLOAD,
                    &[kind],
                );
            }
            Err(_) => return self.count(node, Noted::Malformed),
        };
        let Some(nonce) = content.nonce else { return self.count(node, Noted::Malformed) };
        let Some(value) = content.key_exchange else {
            return self.count(node, Noted::Malformed);
        };
        let (all, of_source) = self.half_open_of(ends.remote.0);
        if self.profiles.is_empty() || all >= MOST_HALF_OPEN || of_source >= MOST_OF_SOURCE {
            return self.count(node, Noted::InitIgnored);
        }
        self.count(node, Noted::Init);
        let is_flood = all >= HALF_OPEN_COOKIES || of_source >= SOURCE_COOKIES;
        if is_flood && !self.has_cookie(now, ends, header, &content) {
            let from = (ends.remote.0, header.spi_i, nonce);
            if let Some(cookie) = self.cookies.make(from, now, self.random) {
                self.refuse_init(ends, header, notify::COOKIE, &cookie);
            }
            return;
        }
        let wishes: Vec<_> = self.profiles.values().map(|p| p.ike).collect();
        let is_good = |suite: &Suite| wishes.iter().any(|wish: &IkeWish| wish.allows(suite));
        let all = content.proposals.as_deref().unwrap_or_default();
        let choose = |p: &Proposal| {
            Suite::choose(p, Some(value.group), is_good).map(|suite| (p.number, suite))
        };
        // A proposal with the group of the received public value saves a round trip.
        let fits = |found: &(u8, Suite)| found.1.group.number() == value.group;
        let chosen = all.iter().filter_map(choose).find(fits);
        let Some((number, suite)) = chosen.or_else(|| all.iter().find_map(choose)) else {
            self.log(format!("{}: no algorithms in common with the peer", ends.remote.0));
            return self.refuse_init(ends, header, notify::NO_PROPOSAL_CHOSEN, &[]);
        };
        if suite.group.number() != value.group {
            let group = suite.group.number().to_be_bytes();
            return self.refuse_init(ends, header, notify::INVALID_KE_PAYLOAD, &group);
        }
        self.answer(now, ends, (header, bytes, &content), (number, suite));
    }
    /// Associations that are not proved, all and those of a source.
    fn half_open_of(&self, addr: IpAddr) -> (usize, usize) {
        let of_source = self.by_source.get(&source_of(addr)).copied().unwrap_or_default();
        (self.by_peer.len(), of_source)
    }
    fn answer(
        &mut self,
        now: f64,
        ends: Ends,
        (header, bytes, content): (&Header, &[u8], &Content<'_>),
        (number, suite): (u8, Suite),
    ) {
        let (Some(nonce), Some(value)) = (content.nonce, content.key_exchange) else { return };
        if value.public.len() != suite.group.public_len() || self.sas.len() >= MOST {
            return self.count(ends.node, Noted::InitIgnored);
        }
        let index = self.next;
        let Some(own) = self.nonce() else { return self.log(NO_RANDOM.to_owned()) };
        let Some(spi) = self.new_spi(index) else { return self.log(NO_RANDOM.to_owned()) };
        self.next += 1;
        let mut sa = Sa::new(index, false, ends, now);
        sa.spis = (header.spi_i, spi);
        sa.suite = Some(suite);
        sa.origin.nonces = (nonce.to_vec(), own);
        sa.first.0 = bytes.to_vec();
        sa.expected = 1;
        sa.stats.inits = 1;
        sa.goes_at = Some(now + PATIENCE);
        note_abilities(&mut sa, content);
        let is_off = self.profiles.values().all(|p: &Profile| p.is_natt_off);
        sa.has_nat_notify = content.notify(notify::NAT_DETECTION_SOURCE_IP).is_some() && !is_off;
        if sa.has_nat_notify {
            sa.nat = find_nat(content, (header.spi_i, 0), &ends);
        }
        self.note_half_open(&mut sa);
        let job = Job::Respond(suite.group, value.public.to_vec());
        self.compute(&mut sa, job, Waiting::Answer { proposal: number });
        self.sas.insert(index, sa);
    }
    pub(super) fn answer_init(&mut self, now: f64, sa: &mut Sa, proposal: u8, done: Done) {
        let (Some(suite), Done::Responded(public, shared)) = (sa.suite, done) else {
            self.log(format!("{}: the peer's public value is invalid", sa.ends.remote.0));
            return sa.state = State::Dead;
        };
        sa.origin.shared = shared;
        if !sa.make_keys(None, false) {
            return sa.state = State::Dead;
        }
        let mut chain = Chain::default();
        chain.push(payload::SA, &Proposal::body(&[suite.accept(proposal, Vec::new())]));
        push_exchange(&mut chain, suite.group, &public, &sa.origin.nonces.1);
        if sa.has_nat_notify {
            push_nat(&mut chain, sa.spis, &sa.ends);
        }
        self.push_request(None, &mut chain);
        push_abilities(&mut chain, sa.takes_parts, !sa.hashes.is_empty());
        let (spi_i, spi_r) = sa.spis;
        let (exchange, flags) = (exchange::IKE_SA_INIT, flag::RESPONSE);
        let header = Header { spi_i, spi_r, next: 0, exchange, flags, id: 0 };
        sa.first.1 = message(&header, &chain, 0);
        let packets = vec![sa.first.1.clone()];
        self.send(now, sa, packets);
    }
    fn repeat_init(&mut self, now: f64, sa: &mut Sa, node: usize, bytes: &[u8]) {
        let is_answered = !sa.first.1.is_empty();
        if sa.first.0 != bytes || !is_answered {
            return self.count(node, Noted::InitIgnored);
        }
        sa.stats.init_retransmits = sa.stats.init_retransmits.saturating_add(1);
        self.count(node, Noted::InitRetransmit);
        let packets = vec![sa.first.1.clone()];
        self.send(now, sa, packets);
    }
    fn has_cookie(&mut self, now: f64, ends: Ends, header: &Header, content: &Content<'_>) -> bool {
        let (Some(found), Some(nonce)) = (content.notify(notify::COOKIE), content.nonce) else {
            return false;
        };
        let from = (ends.remote.0, header.spi_i, nonce);
        self.cookies.is_right(found.data, from, now, self.random)
    }
    /// Refuses an IKE_SA_INIT request without keeping state.
    fn refuse_init(&mut self, ends: Ends, header: &Header, why: u16, data: &[u8]) {
        let mut chain = Chain::default();
        chain.notify(why, data);
        let header = Header { flags: flag::RESPONSE, ..*header };
        self.acts.push(super::Act::Send(ends, message(&header, &chain, 0)));
    }
}
