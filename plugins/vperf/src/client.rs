//! The client's application on one thread.

use host_stack::{Application, Failure, SessionId, Stream, Transport};

use crate::plan::{LEN, Pattern, Plan};

/// Bytes of test data in a datagram, after the position.
const DATAGRAM: u64 = 1400;
/// Length of the position in bytes.
const POSITION: usize = 8;
/// Seconds until a request in a datagram is repeated, or sending continues after a full buffer.
const AGAIN: f64 = 0.2;
/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// Number of bytes of a datagram that differ from the test data at its position.
pub fn wrong_in_datagram(pattern: &Pattern, datagram: &[u8]) -> u64 {
    match datagram.split_first_chunk::<POSITION>() {
        Some((position, rest)) => pattern.wrong(u64::from_be_bytes(*position), rest),
        None => datagram.len() as u64,
    }
}

/// Task of all sessions of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Request to the server.
    pub plan: Plan,
    /// Whether no request is sent: the server is not vperf.
    pub is_plain: bool,
    /// Seconds after which a session stops sending.
    pub run_time: Option<f64>,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The request was sent, but not acknowledged. For datagrams only.
    Asking,
    Sending,
    /// All data was sent; the receipt or the rest of the echo is missing.
    Waiting,
    Done,
}

/// A session of the client.
#[derive(Clone, Copy, Debug)]
struct Session {
    step: Step,
    /// Number of bytes of the request that were written.
    asked: usize,
    sent: u64,
    received: u64,
    until: f64,
}

/// Sums over sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Sessions that were connected.
    pub connected: u32,
    /// Sessions that could not connect, or ended early.
    pub failed: u32,
    /// Completed sessions.
    pub done: u32,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received: echoed ones, or the number in the server's receipt.
    pub received: u64,
    /// Bytes that differ from the test pattern.
    pub wrong: u64,
    /// Datagrams sent and received.
    pub datagrams: [u64; 2],
    /// Time at which the last session was completed.
    pub end: f64,
    /// Reason of the latest failure.
    pub why: Option<Failure>,
}

/// Sessions of a client on one thread.
pub struct Client {
    work: Work,
    sessions: Vec<Session>,
    sums: Sums,
    pattern: Pattern,
    room: Vec<u8>,
}

impl Client {
    /// Creates a client without sessions.
    pub fn new(work: Work) -> Self {
        let (pattern, room) = (Pattern::default(), vec![0; PIECE]);
        Self { work, sessions: Vec::new(), sums: Sums::default(), pattern, room }
    }
    /// Sums so far.
    pub fn sums(&self) -> Sums {
        self.sums
    }
    fn session(&mut self, stream: &Stream<'_>) -> &mut Session {
        &mut self.sessions[stream.data() as usize]
    }
    /// Number of bytes that a session still has to send.
    fn left(&self, session: &Session, now: f64) -> u64 {
        match self.work.plan.bytes {
            0 if now >= session.until => 0,
            0 => u64::MAX,
            all => all.saturating_sub(session.sent),
        }
    }
    fn finish(&mut self, stream: &mut Stream<'_>) {
        let now = stream.now();
        let session = self.session(stream);
        if session.step != Step::Done {
            session.step = Step::Done;
            self.sums.done += 1;
            self.sums.end = self.sums.end.max(now);
        }
        stream.close();
    }
    fn send_stream(&mut self, stream: &mut Stream<'_>) {
        let (mut session, now) = (*self.session(stream), stream.now());
        if !self.work.is_plain {
            let request = self.work.plan.write();
            session.asked += stream.write(&request[session.asked..]);
            if session.asked < LEN {
                *self.session(stream) = session;
                return;
            }
        }
        if session.step == Step::Sending {
            loop {
                let left = self.left(&session, now);
                if left == 0 {
                    session.step = Step::Waiting;
                    break;
                }
                let piece = self.pattern.at(session.sent, left);
                let n = stream.write(piece);
                session.sent += n as u64;
                self.sums.sent += n as u64;
                if n < piece.len() {
                    break;
                }
            }
        }
        *self.session(stream) = session;
        if session.step == Step::Waiting {
            self.has_sent(stream);
        }
    }
    /// Handles the end of sending; the answer may have arrived already.
    fn has_sent(&mut self, stream: &mut Stream<'_>) {
        let session = *self.session(stream);
        let is_open = self.work.plan.bytes == 0;
        if self.work.plan.echoes && session.received >= session.sent {
            self.finish(stream);
        } else if is_open || (self.work.is_plain && !self.work.plan.echoes) {
            stream.shut();
        }
    }
    fn read_stream(&mut self, stream: &mut Stream<'_>) {
        loop {
            let n = stream.copy(0, &mut self.room);
            if n == 0 {
                break;
            }
            let at = stream.data() as usize;
            if self.work.plan.echoes {
                let position = self.sessions[at].received;
                if self.work.plan.is_tested {
                    self.sums.wrong += self.pattern.wrong(position, &self.room[..n]);
                }
                self.sessions[at].received += n as u64;
                self.sums.received += n as u64;
            } else if let Some(receipt) = Plan::read(&self.room[..n]) {
                self.sums.received += receipt.bytes;
                self.sums.wrong += receipt.wrong;
                self.sessions[at].received = receipt.bytes;
                stream.consume(n);
                return self.finish(stream);
            } else if n < LEN && Plan::may_begin(&self.room[..n]) {
                return;
            }
            stream.consume(n);
        }
        if self.session(stream).step == Step::Waiting {
            self.has_sent(stream);
        }
    }
    fn send_datagrams(&mut self, stream: &mut Stream<'_>) {
        let (mut session, now) = (*self.session(stream), stream.now());
        match session.step {
            Step::Asking => {
                stream.send(&self.work.plan.write(), None);
            }
            Step::Sending => loop {
                let left = self.left(&session, now);
                if left == 0 {
                    session.step = Step::Waiting;
                    break;
                }
                let piece = self.pattern.at(session.sent, left.min(DATAGRAM));
                let datagram = [&session.sent.to_be_bytes()[..], piece].concat();
                if !stream.send(&datagram, None) {
                    break;
                }
                session.sent += piece.len() as u64;
                self.sums.sent += piece.len() as u64;
                self.sums.datagrams[0] += 1;
            },
            Step::Waiting if self.work.is_plain => self.finish(stream),
            Step::Waiting => {
                stream.send(&Plan { is_over: true, ..self.work.plan }.write(), None);
            }
            Step::Done => return,
        }
        if self.session(stream).step != Step::Done {
            *self.session(stream) = session;
            stream.wake_in(AGAIN);
        }
    }
    fn read_datagrams(&mut self, stream: &mut Stream<'_>) {
        while let Some((n, _)) = stream.receive(&mut self.room) {
            let bytes = &self.room[..n];
            let at = stream.data() as usize;
            match Plan::read(bytes).filter(|_| n == LEN) {
                Some(answer) if answer.is_over && self.sessions[at].step == Step::Waiting => {
                    if !self.work.plan.echoes {
                        // Positions do not count as test data.
                        let headers = self.sums.datagrams[0] * POSITION as u64;
                        self.sums.received += answer.bytes.saturating_sub(headers);
                    }
                    self.sums.wrong += answer.wrong;
                    self.finish(stream);
                    return;
                }
                Some(_) => {
                    if self.sessions[at].step == Step::Asking {
                        self.sessions[at].step = Step::Sending;
                        self.send_datagrams(stream);
                    }
                }
                None => {
                    if self.work.plan.is_tested {
                        self.sums.wrong += wrong_in_datagram(&self.pattern, bytes);
                    }
                    let data = n.saturating_sub(POSITION) as u64;
                    self.sessions[at].received += data;
                    self.sums.received += data;
                    self.sums.datagrams[1] += 1;
                }
            }
        }
    }
}

impl Application for Client {
    fn on_accept(&mut self, _: &mut Stream<'_>) -> bool {
        false // it listens to nothing
    }
    fn on_connected(&mut self, stream: &mut Stream<'_>) {
        self.sums.connected += 1;
        let is_udp = stream.ends().transport == Transport::Udp;
        let step = if is_udp && !self.work.is_plain { Step::Asking } else { Step::Sending };
        let until = self.work.run_time.map_or(f64::INFINITY, |seconds| stream.now() + seconds);
        self.sessions.push(Session { step, asked: 0, sent: 0, received: 0, until });
        stream.set_data(self.sessions.len() as u64 - 1);
        if let Some(seconds) = self.work.run_time {
            stream.wake_in(seconds);
        }
        self.on_writable(stream);
    }
    fn on_refused(&mut self, _: u64, why: Failure) {
        self.sums.failed += 1;
        self.sums.why = Some(why);
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        match stream.ends().transport {
            Transport::Udp => self.read_datagrams(stream),
            _ => self.read_stream(stream),
        }
    }
    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        match stream.ends().transport {
            Transport::Udp => self.send_datagrams(stream),
            _ => self.send_stream(stream),
        }
    }
    fn on_timer(&mut self, stream: &mut Stream<'_>) {
        self.on_writable(stream);
    }
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        self.read_stream(stream);
        let session = *self.session(stream);
        if session.step == Step::Done {
            return;
        }
        let has_all = session.step == Step::Waiting
            && (self.work.is_plain || self.work.plan.echoes)
            && (!self.work.plan.echoes || session.received >= session.sent);
        if !has_all {
            self.sums.failed += 1;
            self.sums.why = Some(Failure::Reset);
            self.session(stream).step = Step::Done;
            return stream.close();
        }
        self.finish(stream);
    }
    fn on_reset(&mut self, _: SessionId, data: u64, why: Failure) {
        if let Some(session) = self.sessions.get_mut(data as usize)
            && session.step != Step::Done
        {
            session.step = Step::Done;
            self.sums.failed += 1;
            self.sums.why = Some(why);
        }
    }
}
