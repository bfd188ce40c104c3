//! The server's application on one thread.

use host_stack::{Application, Failure, SessionId, Stream, Transport};

use crate::plan::{LEN, Pattern, Plan};

/// Bytes read at a time.
const PIECE: usize = 64 << 10;
/// Idle timeout of a datagram session in seconds.
const SILENCE: f64 = 60.0;

/// A session of the server.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    plan: Option<Plan>,
    received: u64,
    wrong: u64,
    has_receipt: bool,
    heard: f64,
}

/// Sessions of a server on one thread.
#[derive(Default)]
pub struct Server {
    served: Vec<Served>,
    free: Vec<usize>,
    pattern: Pattern,
    room: Vec<u8>,
}

impl Server {
    fn end(&mut self, data: u64) {
        self.free.push(data as usize);
    }
    fn read_stream(&mut self, stream: &mut Stream<'_>) {
        let at = stream.data() as usize;
        if self.served[at].plan.is_none() && !self.read_plan(stream) {
            return;
        }
        self.room.resize(PIECE, 0);
        loop {
            let n = stream.copy(0, &mut self.room);
            if n == 0 {
                break;
            }
            let served = &mut self.served[at];
            let plan = served.plan.unwrap_or_default();
            let bytes = &self.room[..n];
            let n = if plan.echoes { stream.write(bytes) } else { n };
            if plan.is_tested {
                served.wrong += self.pattern.wrong(served.received, &bytes[..n]);
            }
            served.received += n as u64;
            stream.consume(n);
            if n < bytes.len() {
                return; // until the buffer has room
            }
        }
        let served = self.served[at];
        let plan = served.plan.unwrap_or_default();
        if !plan.echoes && plan.bytes > 0 && served.received >= plan.bytes {
            self.acknowledge(stream);
        }
    }
    /// Reads the request of a client; false if it is incomplete.
    fn read_plan(&mut self, stream: &mut Stream<'_>) -> bool {
        let mut head = [0; LEN];
        let n = stream.copy(0, &mut head);
        if n < LEN && Plan::may_begin(&head[..n]) && !stream.is_finished() {
            return false;
        }
        let plan = Plan::read(&head[..n]);
        if plan.is_some() {
            stream.consume(LEN);
        }
        let plain = Plan { echoes: true, ..Plan::default() };
        self.served[stream.data() as usize].plan = Some(plan.unwrap_or(plain));
        true
    }
    fn acknowledge(&mut self, stream: &mut Stream<'_>) {
        let served = &mut self.served[stream.data() as usize];
        if !served.has_receipt {
            served.has_receipt = true;
            let Served { received: bytes, wrong, .. } = *served;
            stream.write(&Plan { is_over: true, bytes, wrong, ..Plan::default() }.write());
        }
    }
    fn read_datagrams(&mut self, stream: &mut Stream<'_>) {
        let at = stream.data() as usize;
        self.served[at].heard = stream.now();
        self.room.resize(PIECE, 0);
        while let Some((n, from)) = stream.receive(&mut self.room) {
            let served = &mut self.served[at];
            let bytes = &self.room[..n];
            if let Some(plan) = Plan::read(bytes).filter(|_| n == LEN) {
                let Served { received, wrong, .. } = *served;
                let answer = Plan { bytes: received, wrong, ..plan };
                served.plan = Some(plan);
                stream.send(&answer.write(), Some(from));
                continue;
            }
            served.received += n as u64;
            let plan = served.plan.unwrap_or(Plan { echoes: true, ..Plan::default() });
            if plan.is_tested {
                served.wrong += crate::client::wrong_in_datagram(&self.pattern, bytes);
            }
            if plan.echoes {
                stream.send(bytes, Some(from));
            }
        }
    }
}

impl Application for Server {
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool {
        let at = self.free.pop().unwrap_or_else(|| {
            self.served.push(Served::default());
            self.served.len() - 1
        });
        self.served[at] = Served { heard: stream.now(), ..Served::default() };
        stream.set_data(at as u64);
        if stream.ends().transport == Transport::Udp {
            stream.wake_in(SILENCE);
        }
        true
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        match stream.ends().transport {
            Transport::Udp => self.read_datagrams(stream),
            _ => self.read_stream(stream),
        }
    }
    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        self.on_readable(stream);
        if stream.is_finished() {
            self.on_close(stream);
        }
    }
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        self.read_stream(stream);
        if stream.readable() > 0 {
            return; // until the buffer has room for the rest
        }
        let served = self.served[stream.data() as usize];
        if served.plan.is_some_and(|plan| !plan.echoes) {
            self.acknowledge(stream);
        }
        self.end(stream.data());
        stream.close();
    }
    fn on_reset(&mut self, _: SessionId, data: u64, _: Failure) {
        self.end(data);
    }
    fn on_timer(&mut self, stream: &mut Stream<'_>) {
        let left = self.served[stream.data() as usize].heard + SILENCE - stream.now();
        if left > 0.0 {
            stream.wake_in(left);
        } else {
            self.end(stream.data());
            stream.close();
        }
    }
}
