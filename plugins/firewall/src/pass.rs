//! The judgement of packets: by their session, or else by the policy between their zones.

use net::icmp::Limit;
use net::prelude::*;
use sessions::tcp::State;
use sessions::{Direction, Flow, Kind, Refused, Seen, SessionIndex};
use translation::handoff::Threads;
use wire::tcp::Flags as TcpFlags;

use super::list::Verdict;
use super::log::Entry;
use super::node::{Counters, Error, Firewalled, Guard, Next, Sight};
use super::packet;
use super::policy::Action;
use super::ruleset::{Between, Ruleset};
use super::session::{self, Data, Here, Lent};
use super::trace::{Judged, Met};
use super::zone::{Pair, REPLIES, Zone};

/// Counts of a frame.
#[derive(Default)]
pub(super) struct Tally {
    pub known: u64,
    pub begun: u64,
    pub alone: u64,
    pub ended: u64,
}

/// Common data for the packets of a frame.
pub(super) struct Pass<'f, V: Guard> {
    pub version: V,
    pub sight: &'f Sight,
    pub rules: &'f Ruleset,
    pub counters: &'f Counters,
    pub table: Option<Lent<'f, V::Address>>,
    pub log: &'f mut EventSender<Entry>,
    pub limit: &'f mut Limit,
    pub threads: Threads,
    pub thread: usize,
    pub now: f64,
    pub epoch: Epoch<'f>,
    pub tally: Tally,
}

/// A packet that is judged.
struct Subject<A> {
    pair: Pair,
    /// Where its IP header is.
    offset: usize,
    seen: Seen<A>,
}

impl<V: Guard> Pass<'_, V> {
    pub fn judge<const AT: usize>(
        &mut self,
        p: &mut Packet<'_, Firewalled<V, AT>>,
    ) -> Result<Next<V, AT>, Error> {
        let (pair, offset) = packet::place::<AT>(self.sight, p, self.epoch);
        match (pair.from, pair.to) {
            (Zone::NONE, Zone::NONE | Zone::LOCAL) | (Zone::LOCAL, Zone::NONE | Zone::LOCAL) => {
                return Ok(Next::Continue);
            }
            (Zone::NONE, _) | (_, Zone::NONE) => return Err(Error::NoZone),
            _ => {}
        }
        let packet = p.bytes().get(offset..).unwrap_or(&[]);
        if packet.first().is_none_or(|byte| byte >> 4 != V::NUMBER) {
            return Err(Error::Unreadable);
        }
        let between = self.rules.at(pair);
        let is_link = packet::is_discovery(packet);
        if is_link || matches!(between, Between::All) {
            self.tally.alone += 1;
            return Ok(Next::Continue);
        }
        let seen = packet::look::<V::Address>(packet, p.ports(), pair.scope());
        let seen = seen.ok_or(Error::Unreadable)?;
        if pair.from == Zone::LOCAL && is_own_answer(&seen) {
            self.tally.alone += 1;
            return Ok(Next::Continue);
        }
        let subject = Subject { pair, offset, seen };
        let seed = self.table.as_deref().map(Here::seed).ok_or(Error::Busy)?;
        if self.threads.at(seen.flow.meeting(seed)) != self.thread {
            p.trace(|_| self.judged(pair, None, Met::Elsewhere));
            return Ok(Next::HandOff(self.version));
        }
        if let Some(found) = self.session_of(&subject) {
            return Ok(self.pass_known(p, &subject, found));
        }
        if matches!(seen.kind, Kind::Error(_)) {
            return Err(Error::NoSession);
        }
        self.judge_new(p, &subject)
    }
    fn judged(&self, pair: Pair, verdict: Option<Verdict>, met: Met) -> Judged {
        let zones = [pair.from, pair.to].map(|zone| self.rules.name(zone).to_owned());
        let (action, rule) = (verdict.map(|v| v.action), verdict.and_then(|v| v.rule));
        Judged { zones, action, rule, met }
    }
    /// The session of a packet; that of an ICMP error may be with any zone.
    #[inline(always)]
    fn session_of(&mut self, subject: &Subject<V::Address>) -> Option<(SessionIndex, Direction)> {
        let Subject { seen, pair, .. } = subject;
        let found = self.find(&seen.flow);
        match seen.kind {
            Kind::Error(_) if found.is_none() => self.find_elsewhere(&seen.flow, *pair),
            // The type of an echo is in its first fragment only.
            Kind::Echo(_) if found.is_none() && !seen.has_upper => {
                self.find(&seen.flow.in_scope(seen.flow.scope | REPLIES))
            }
            _ => found,
        }
    }
    #[cold]
    fn find_elsewhere(
        &mut self,
        flow: &Flow<V::Address>,
        pair: Pair,
    ) -> Option<(SessionIndex, Direction)> {
        let (rules, replies) = (self.rules, flow.scope & REPLIES);
        let scope = |from| Pair { from, ..pair }.scope() | replies;
        rules.others().find_map(|from| self.find(&flow.in_scope(scope(from))))
    }
    /// The session of a flow, unless it is over or may not be any more.
    #[inline(always)]
    fn find(&mut self, flow: &Flow<V::Address>) -> Option<(SessionIndex, Direction)> {
        let table = self.table.as_deref_mut()?;
        let (at, direction) = table.find_any(flow)?;
        let data = table.at(at)?.data;
        let is_over = table.is_over(at, self.now);
        if !is_over && data.generation == self.rules.generation {
            return Some((at, direction));
        }
        let may_stay = !is_over && self.judge_again(at);
        if !may_stay {
            self.tally.ended += u64::from(!is_over);
            self.end(at);
        }
        may_stay.then_some((at, direction))
    }
    /// Re-evaluates a session that former rules permitted.
    #[inline(never)]
    fn judge_again(&mut self, at: SessionIndex) -> bool {
        let rules = self.rules;
        let Some(table) = self.table.as_deref_mut() else { return false };
        let Some(session) = table.at(at) else { return false };
        let (forward, old) = (session.forward, session.data.policy);
        let between = rules.at(Pair::of_scope(forward.scope));
        let policy = between.policy();
        let verdict = between.judge::<V>(&session::first_of::<V>(&forward));
        let permitted = verdict.filter(|verdict| verdict.action == Action::Permit);
        let (Some(policy), Some(verdict)) = (policy, permitted) else { return false };
        if let Some(data) = table.data_mut(at) {
            (data.generation, data.policy) = (rules.generation, policy.number);
            (data.counter, data.rule) = (verdict.counter, verdict.rule.unwrap_or(u32::MAX));
            data.log = verdict.log.into();
        }
        if old != policy.number {
            session::count(&self.counters.sessions, self.thread, old, false);
            session::count(&self.counters.sessions, self.thread, policy.number, true);
        }
        true
    }
    fn end(&mut self, at: SessionIndex) {
        let Some(table) = self.table.as_deref_mut() else { return };
        if let Some(gone) = table.remove(at) {
            ended::<V>(&gone, self.counters, self.thread, self.log);
        }
    }
    #[inline(always)]
    fn pass_known<const AT: usize>(
        &mut self,
        p: &mut Packet<'_, Firewalled<V, AT>>,
        subject: &Subject<V::Address>,
        found: (SessionIndex, Direction),
    ) -> Next<V, AT> {
        self.tally.known += 1;
        let bytes = p.total_len() - subject.offset;
        let data = self.table.as_deref().and_then(|table| table.at(found.0)).map(|s| s.data);
        let Some(data) = data else { return Next::Continue };
        self.count(data.policy, data.counter, bytes);
        if let Some(table) = self.table.as_deref_mut() {
            session::pass(table, found, &subject.seen, (bytes, self.now));
        }
        p.trace(|_| {
            let rule = Some(data.rule).filter(|rule| *rule != u32::MAX);
            let (action, log) = (Action::Permit, data.log != 0);
            let verdict = Verdict { action, rule, counter: data.counter, log };
            self.judged(subject.pair, Some(verdict), Met::Session)
        });
        Next::Continue
    }
    #[inline(always)]
    fn count(&self, policy: u16, rule: u32, bytes: usize) {
        let rows = [(&self.counters.rules, rule), (&self.counters.policies, policy.into())];
        for (rows, column) in rows {
            if let Some(counter) = rows.row(self.thread).get(column as usize) {
                counter.add(1, bytes as u64);
            }
        }
    }
    /// Judges a packet without a session.
    #[inline(never)]
    fn judge_new<const AT: usize>(
        &mut self,
        p: &mut Packet<'_, Firewalled<V, AT>>,
        subject: &Subject<V::Address>,
    ) -> Result<Next<V, AT>, Error> {
        let Subject { pair, offset, seen } = subject;
        let rules = self.rules;
        let Some(policy) = rules.at(*pair).policy() else {
            p.trace(|_| self.judged(*pair, None, Met::Alone));
            return Err(Error::NoPolicy);
        };
        let packet = p.bytes().get(*offset..).unwrap_or(&[]);
        let upper = packet::compared(packet, seen).ok_or(Error::Unreadable)?;
        let verdict = policy.judge::<V>(&V::tuple(&seen.flow, upper));
        self.count(policy.number, verdict.counter, p.total_len() - offset);
        let is_begin = verdict.action == Action::Permit && session::has_answers(seen.kind);
        let met = if is_begin { Met::Begins } else { Met::Alone };
        p.trace(|_| self.judged(*pair, Some(verdict), met));
        if verdict.log && verdict.action != Action::Permit {
            self.log.send(Entry::of::<V>(&verdict, seen, upper, (p.rx(), p.tx())));
        }
        match verdict.action {
            Action::Drop => Err(Error::Dropped),
            Action::Reject => self.reject(p, subject),
            Action::Permit if is_begin => {
                self.begin(p, subject, (policy.number, policy.terms.limit), verdict)?;
                Ok(Next::Continue)
            }
            Action::Permit => {
                self.tally.alone += 1;
                Ok(Next::Continue)
            }
        }
    }
    /// Begins a session with a packet.
    fn begin<const AT: usize>(
        &mut self,
        p: &mut Packet<'_, Firewalled<V, AT>>,
        subject: &Subject<V::Address>,
        (policy, limit): (u16, u32),
        verdict: Verdict,
    ) -> Result<(), Error> {
        let Subject { pair: _, offset, seen } = subject;
        if !self.rules.options.takes_up && !packet::begins(seen.kind) {
            return Err(Error::NoStart);
        }
        let counters = self.counters;
        if limit > 0 && counters.sessions.sum(policy.into()) >= limit.into() {
            return Err(Error::PolicyFull);
        }
        let Some(table) = self.table.as_deref_mut() else { return Err(Error::Busy) };
        if table.usage().sessions >= self.rules.options.session_limit as usize {
            return Err(Error::Full);
        }
        let data = Data {
            tcp: State::NEW,
            log: verdict.log.into(),
            policy,
            counter: verdict.counter,
            rule: verdict.rule.unwrap_or(u32::MAX),
            generation: self.rules.generation,
            rx: p.rx(),
            tx: p.tx(),
        };
        let (thread, log) = (self.thread, &mut *self.log);
        let new = session::begun(seen.flow, data);
        let made = table.insert(new, self.now, |_, gone| ended::<V>(gone, counters, thread, log));
        let at = made.map_err(|why| match why {
            Refused::Clash | Refused::Full => Error::Full,
        })?;
        session::count(&counters.sessions, thread, policy, true);
        let moment = (p.total_len() - offset, self.now);
        session::pass(table, (at, Direction::Forward), seen, moment);
        self.tally.begun += 1;
        if verdict.log {
            let ports = (seen.flow.src_port, seen.flow.dst_port);
            self.log.send(Entry::of::<V>(&verdict, seen, ports, (p.rx(), p.tx())));
        }
        Ok(())
    }
    /// Rejects a packet, with an error to its sender.
    fn reject<const AT: usize>(
        &mut self,
        p: &mut Packet<'_, Firewalled<V, AT>>,
        subject: &Subject<V::Address>,
    ) -> Result<Next<V, AT>, Error> {
        let Subject { pair, offset, seen } = subject;
        if pair.from == Zone::LOCAL {
            return Err(Error::Rejected);
        }
        p.advance(*offset).ok_or(Error::Rejected)?;
        if let Kind::Tcp(_) = seen.kind {
            let reset = V::reset(p.bytes(), seen.upper).filter(|_| seen.has_upper);
            let reset = reset.filter(|_| self.limit.take()).ok_or(Error::Rejected)?;
            p.truncate_chain(reset.bytes().len());
            let room = p.bytes_mut().get_mut(..reset.bytes().len());
            room.ok_or(Error::Rejected)?.copy_from_slice(reset.bytes());
            p.error(Error::Rejected);
            net::icmp::become_ours(p);
            return Ok(Next::Reset);
        }
        // A tunnel's headers made it one of the router's own.
        p.clear_flags(Flags::LOCAL);
        p.set_payload(V::PROHIBITED);
        p.error(Error::Rejected);
        Ok(Next::IcmpError)
    }
}

/// Whether a packet of the router itself answers another: an ICMP error or a TCP reset.
fn is_own_answer<A>(seen: &Seen<A>) -> bool {
    match seen.kind {
        Kind::Error(_) => true,
        Kind::Tcp(flags) => flags.contains(TcpFlags::RST),
        _ => false,
    }
}

/// Notes that a session ended on a thread.
fn ended<V: Guard>(
    gone: &session::One<V::Address>,
    counters: &Counters,
    thread: usize,
    log: &mut EventSender<Entry>,
) {
    session::count(&counters.sessions, thread, gone.data.policy, false);
    if gone.data.log != 0 {
        log.send(Entry::end(gone));
    }
}
