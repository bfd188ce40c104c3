//! Exchanges: encryption and decryption of messages, message IDs and retransmissions (RFC 7296
//! sections 2.1 to 2.3).

use super::ask::{Ask, RETRY, Request, Task};
use super::parts::{MOST_BYTES, MOST_UNPROVED, Parts};
use super::waiting::Plain;
use super::{AHEAD, Act, Machine, Noted, Sa, State};
use crate::codec::number::{exchange, notify};
use crate::codec::{Chain, Content, Header, flag};

/// Payload bytes in a message fragment (RFC 7383 section 2.5.1), for a path MTU of 1280 bytes.
const PART: usize = 1100;

impl Machine {
    /// Decrypts a message; `None` if it is not authentic, `Some(None)` if fragments are missing.
    pub(super) fn open(
        sa: &mut Sa,
        header: &Header,
        bytes: &[u8],
        content: &Content<'_>,
    ) -> Option<Option<Plain>> {
        let sealed = content.sealed?;
        let opened = sa.seals.as_ref()?.1.open(bytes, sealed.part);
        let opened = match opened {
            Some(opened) => opened,
            None => Self::open_anew(sa, header, bytes, sealed.part)?,
        };
        match sealed.part {
            None => Some(Some((sealed.first, opened))),
            Some(_) if !sa.takes_parts => None,
            Some(part) => {
                let of = (header.id, header.is_response());
                let most = match sa.state {
                    State::Established => MOST_BYTES,
                    State::Init => MOST_UNPROVED,
                    _ => return None,
                };
                Some(sa.parts.put(of, part, (sealed.first, opened), most))
            }
        }
    }
    /// Retries the first encrypted request with keys from whole nonces: against section 2.14, VPP
    /// derives its keys for AES-CMAC that way.
    fn open_anew(
        sa: &mut Sa,
        header: &Header,
        bytes: &[u8],
        part: Option<(u16, u16)>,
    ) -> Option<Vec<u8>> {
        let is_cmac = sa.suite.is_some_and(|suite| suite.prf == crate::crypto::keys::CMAC);
        let is_first = !sa.is_initiator && sa.state == State::Init && sa.expected == 1;
        if !is_cmac || !is_first || header.is_response() {
            return None;
        }
        sa.make_keys(None, true);
        let opened = sa.seals.as_ref().and_then(|seals| seals.1.open(bytes, part));
        if opened.is_none() {
            sa.make_keys(None, false);
        }
        opened
    }
    /// Encrypts payloads into a message, or into fragments if the peer supports them.
    pub(super) fn seal(sa: &Sa, header: &Header, chain: &Chain) -> Vec<Vec<u8>> {
        let Some((own, _)) = &sa.seals else { return Vec::new() };
        let plain = &chain.bytes[..];
        if !sa.takes_parts || plain.len() <= PART {
            return own.seal(header, (chain.first, plain), None).into_iter().collect();
        }
        let pieces: Vec<_> = plain.chunks(PART).collect();
        let count = pieces.len() as u16;
        let part = |(piece, number): (&&[u8], u16)| {
            let first = if number == 1 { chain.first } else { 0 };
            own.seal(header, (first, piece), Some((number, count)))
        };
        pieces.iter().zip(1..).filter_map(part).collect()
    }
    fn header(sa: &Sa, exchange: u8, id: u32, is_response: bool) -> Header {
        let mut flags = if sa.is_initiator { flag::INITIATOR } else { 0 };
        if is_response {
            flags |= flag::RESPONSE;
        }
        Header { spi_i: sa.spis.0, spi_r: sa.spis.1, next: 0, exchange, flags, id }
    }
    pub(super) fn send(&mut self, now: f64, sa: &mut Sa, packets: Vec<Vec<u8>>) {
        sa.sent = now;
        self.acts.extend(packets.into_iter().map(|packet| Act::Send(sa.ends, packet)));
    }
    /// Answers a request and keeps the response for retransmitted requests.
    pub(super) fn respond(
        &mut self,
        now: f64,
        sa: &mut Sa,
        (exchange, id): (u8, u32),
        chain: &Chain,
    ) {
        let packets = Self::seal(sa, &Self::header(sa, exchange, id, true), chain);
        sa.answer = Some((id, packets.clone()));
        self.send(now, sa, packets);
    }
    /// Refuses a request.
    pub(super) fn refuse(&mut self, now: f64, sa: &mut Sa, of: (u8, u32), why: u16) {
        let mut chain = Chain::default();
        chain.notify(why, &[]);
        self.respond(now, sa, of, &chain);
    }
    /// Sends a request and keeps it for retransmission.
    pub(super) fn ask(&mut self, now: f64, sa: &mut Sa, exchange: u8, chain: &Chain, ask: Ask) {
        let id = sa.next_id;
        sa.next_id += 1;
        let packets = Self::seal(sa, &Self::header(sa, exchange, id, false), chain);
        let again = match ask {
            Ask::Probe => f64::from(self.settings.period.max(1)),
            _ => RETRY,
        };
        sa.request = Some(Request {
            id,
            exchange,
            packets: packets.clone(),
            again: now + again,
            tries: 1,
            ask,
        });
        self.send(now, sa, packets);
    }
    pub(super) fn take_request(&mut self, now: f64, sa: &mut Sa, header: &Header, plain: Plain) {
        let node = sa.ends.node;
        if header.id < sa.expected {
            let known = sa.answer.clone().filter(|(id, _)| *id == header.id);
            let Some((_, packets)) = known else { return self.count(node, Noted::Ignored) };
            sa.stats.retransmits = sa.stats.retransmits.saturating_add(1);
            self.count(node, Noted::Retransmit);
            return self.send(now, sa, packets);
        }
        // A request that is being worked on is answered soon; retransmissions of it are ignored.
        if header.id - sa.expected > AHEAD || sa.waiting.is_some() || sa.state == State::Closing {
            return self.count(node, Noted::Ignored);
        }
        sa.expected = header.id.saturating_add(1);
        sa.heard = now;
        self.carry_out(now, sa, header, plain);
        if sa.state != State::Dead {
            self.ask_next(now, sa);
        }
    }
    fn carry_out(&mut self, now: f64, sa: &mut Sa, header: &Header, plain: Plain) {
        let of = (header.exchange, header.id);
        match Content::read(plain.0, &plain.1) {
            Ok(_) => (),
            Err(crate::codec::Flaw::Critical(kind)) => {
                let mut chain = Chain::default();
                chain.notify(notify::UNSUPPORTED_CRITICAL_PAYLOAD, &[kind]);
                return self.respond(now, sa, of, &chain);
            }
            Err(_) => {
                self.count(sa.ends.node, Noted::Malformed);
                self.refuse(now, sa, of, notify::INVALID_SYNTAX);
                return self.fail_unproved(now, sa);
            }
        }
        match (header.exchange, sa.state) {
            (exchange::IKE_AUTH, State::Init) if !sa.is_initiator => {
                self.count(sa.ends.node, Noted::Auth);
                sa.stats.auths = sa.stats.auths.saturating_add(1);
                self.take_auth(now, sa, (header.id, plain));
            }
            (exchange::CREATE_CHILD_SA, State::Established) => {
                self.take_create(now, sa, (header.id, plain));
            }
            (exchange::INFORMATIONAL, State::Established | State::Replaced) => {
                self.take_inform(now, sa, header.id, &plain);
            }
            (exchange::CREATE_CHILD_SA, State::Replaced) => {
                self.refuse(now, sa, of, notify::TEMPORARY_FAILURE);
            }
            _ => self.count(sa.ends.node, Noted::Ignored),
        }
    }
    fn fail_unproved(&mut self, now: f64, sa: &mut Sa) {
        if sa.state == State::Init {
            self.fail(now, sa);
        }
    }
    /// Ends an association whose authentication failed; only retransmitted requests are answered.
    pub(super) fn fail(&mut self, now: f64, sa: &mut Sa) {
        self.drop_children(sa);
        // Its place among those that are not proved stays taken until it goes.
        sa.state = State::Failed;
        sa.parts = Parts::default();
        sa.request = None;
        sa.goes_at = Some(now + 10.0);
    }
    pub(super) fn take_response(&mut self, now: f64, sa: &mut Sa, header: &Header, plain: Plain) {
        let is_it = |request: &Request| {
            // VPP's responses to IKE_AUTH do not repeat the message ID.
            let is_number = request.id == header.id || matches!(request.ask, Ask::Auth);
            request.exchange == header.exchange && is_number
        };
        if !sa.request.as_ref().is_some_and(is_it) {
            return self.count(sa.ends.node, Noted::Ignored);
        }
        let Some(request) = sa.request.take() else { return };
        sa.heard = now;
        let Ok(content) = Content::read(plain.0, &plain.1) else {
            self.count(sa.ends.node, Noted::Malformed);
            sa.request = Some(request);
            return;
        };
        match request.ask {
            Ask::Init | Ask::Probe => (),
            Ask::Auth => self.take_auth_answer(now, sa, &content, plain.clone()),
            Ask::RekeyChild { .. } => self.child_replaced(now, sa, request.ask, &content),
            Ask::Rekey { .. } => self.rekey_answered(now, sa, request.ask, &content, plain.clone()),
            Ask::DeleteChild(child) => self.remove_child(sa, child),
            Ask::Delete => sa.state = State::Dead,
        }
        if sa.state != State::Dead {
            self.ask_next(now, sa);
        }
    }
    /// Queues a request; it is sent when no other request is outstanding.
    pub(super) fn demand(&mut self, now: f64, index: u32, task: Task) {
        self.drive(index, |machine, sa| {
            if machine.is_asked(now, sa, task) {
                return;
            }
            if !sa.tasks.contains(&task) {
                sa.tasks.push_back(task);
            }
            machine.ask_next(now, sa);
        });
    }
    /// Whether the same request is outstanding already; if so, it is retransmitted at once.
    fn is_asked(&mut self, now: f64, sa: &mut Sa, task: Task) -> bool {
        let Some(request) = &sa.request else { return false };
        let is_it = match (&request.ask, task) {
            (Ask::RekeyChild { old, .. }, Task::RekeyChild(child)) => *old == child,
            (Ask::DeleteChild(old), Task::DeleteChild(child)) => *old == child,
            (Ask::Rekey { .. }, Task::Rekey) | (Ask::Probe, Task::Probe) => true,
            _ => false,
        };
        if is_it {
            let packets = request.packets.clone();
            self.send(now, sa, packets);
        }
        is_it
    }
    /// Sends the next queued request, unless another one is outstanding or a job is running.
    pub(super) fn ask_next(&mut self, now: f64, sa: &mut Sa) {
        while sa.request.is_none() && sa.waiting.is_none() && sa.state == State::Established {
            let Some(task) = sa.tasks.pop_front() else { return };
            match task {
                Task::RekeyChild(child) => self.ask_rekey_child(now, sa, child),
                Task::DeleteChild(child) => self.ask_delete_child(now, sa, child),
                Task::Rekey => self.begin_rekey(sa),
                Task::Probe => {
                    self.ask(now, sa, exchange::INFORMATIONAL, &Chain::default(), Ask::Probe);
                }
            }
        }
    }
}
