//! One run of the client: from connecting to the result.

use control::cli::{Step, Task};
use host_stack::{Connect, Endpoint, Options, Transport, ask_parts, attach, connect, detach};
use net::prelude::*;

use crate::client::{Client, Sums, Work};

/// Polling interval.
const LOOK: Duration = Duration::from_millis(5);
/// Sessions opened per interval, so that other work gets its turn.
const SOME: u32 = 64;
/// Name of the application.
const NAME: &str = "vperf-client";

/// Parameters of the command.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The server.
    pub to: Endpoint,
    /// Sessions.
    pub clients: u32,
    /// Task of each session.
    pub work: Work,
    /// Options of the application.
    pub options: Options,
    /// Timeout for connecting all sessions in seconds.
    pub syn_timeout: f64,
    /// Timeout for the test after that in seconds.
    pub test_timeout: f64,
}

/// A run in progress.
pub struct Run {
    wanted: Wanted,
    app: u32,
    asked: u32,
    begun: f64,
    /// Time at which all sessions were connected.
    started: Option<f64>,
    sums: Sums,
    is_over: bool,
}

impl Run {
    /// Starts a run.
    ///
    /// # Errors
    /// The reason, as text.
    pub fn start(wanted: Wanted, router: &mut Router) -> Result<Self, Error> {
        let work = wanted.work;
        let make = move |_| -> Box<dyn host_stack::Application> { Box::new(Client::new(work)) };
        let app = attach(router, NAME, wanted.options.clone(), make).map_err(failed)?;
        let (begun, sums) = (router.now(), Sums::default());
        Ok(Self { wanted, app, asked: 0, begun, started: None, sums, is_over: false })
    }
    fn ask(&mut self, router: &mut Router) -> Result<(), Error> {
        for _ in 0..SOME.min(self.wanted.clients - self.asked) {
            let request = Connect { to: self.wanted.to, opaque: 0, thread: None };
            connect(router, self.app, request).map_err(failed)?;
            self.asked += 1;
        }
        Ok(())
    }
    fn look(&mut self, router: &mut Router) -> Result<(), Error> {
        let all = ask_parts(router, self.app, |client: &mut Client| client.sums());
        self.sums = all.map_err(failed)?.into_iter().fold(Sums::default(), add);
        Ok(())
    }
    /// Continues the run; returns the result when it has ended.
    fn go_on(&mut self, router: &mut Router) -> Result<Option<Results>, Error> {
        if self.asked < self.wanted.clients {
            self.ask(router)?;
        }
        self.look(router)?;
        let (now, clients) = (router.now(), self.wanted.clients);
        let Sums { connected, done, failed, why, .. } = self.sums;
        if failed > 0 {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return Err(Error::new(format!("failed: {failed} of {clients} sessions{why}")));
        }
        if connected == clients && self.started.is_none() {
            self.started = Some(now);
        }
        if done == clients {
            return self.result().map(Some);
        }
        let (since, most) = match self.started {
            None => (self.begun, self.wanted.syn_timeout),
            Some(at) => (at, self.wanted.test_timeout + self.wanted.work.run_time.unwrap_or(0.0)),
        };
        if now - since > most {
            let left = clients - if self.started.is_some() { done } else { connected };
            return Err(Error::new(format!("failed: timeout with {left} sessions")));
        }
        Ok(None)
    }
    fn result(&self) -> Result<Results, Error> {
        let Sums { wrong, sent, received, datagrams, end, .. } = self.sums;
        if wrong > 0 {
            return Err(Error::new(format!("failed: {wrong} bytes differ from those sent")));
        }
        let is_lossy = self.wanted.to.transport == Transport::Udp;
        if received < sent && !is_lossy && !self.wanted.work.is_plain {
            return Err(Error::new(format!("failed: {received} of {sent} bytes arrived")));
        }
        let is_both_ways = self.wanted.work.plan.echoes;
        Ok(Results {
            bytes: if is_both_ways { sent + received } else { sent },
            seconds: (end - self.begun).max(1e-9),
            is_both_ways,
            sessions: self.wanted.clients,
            lost: if is_lossy { sent.saturating_sub(received) } else { 0 },
            sent,
            datagrams: is_lossy.then_some(datagrams),
        })
    }
    fn end(&mut self, router: &mut Router) {
        if !self.is_over {
            self.is_over = true;
            detach(router, self.app);
        }
    }
}

fn failed(why: impl fmt::Display) -> Error {
    Error::new(format!("failed: {why}"))
}

fn add(all: Sums, one: Sums) -> Sums {
    Sums {
        connected: all.connected + one.connected,
        failed: all.failed + one.failed,
        done: all.done + one.done,
        sent: all.sent + one.sent,
        received: all.received + one.received,
        wrong: all.wrong + one.wrong,
        datagrams: [0, 1].map(|n| all.datagrams[n] + one.datagrams[n]),
        end: all.end.max(one.end),
        why: all.why.or(one.why),
    }
}

impl Task<Router> for Run {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        match self.go_on(router) {
            Ok(None) => Step::Sleep(LOOK),
            Ok(Some(results)) => {
                self.end(router);
                out.append(Output::of(results));
                Step::Done(Ok(()))
            }
            Err(why) => {
                self.end(router);
                Step::Done(Err(why))
            }
        }
    }
    fn cancel(&mut self, router: &mut Router, _: &mut Output) {
        self.end(router);
    }
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// Number of bytes, of both directions if both were used.
    pub bytes: u64,
    /// Duration in seconds, including the time for connecting.
    pub seconds: f64,
    /// Whether the data was echoed.
    pub is_both_ways: bool,
    /// Sessions.
    pub sessions: u32,
    /// Number of bytes that were lost.
    pub lost: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Datagrams sent and received.
    pub datagrams: Option<[u64; 2]>,
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, seconds, sessions, lost, sent, .. } = self;
        let (mega, giga) = (*bytes as f64 / 1e6, *bytes as f64 / 1e9);
        writeln!(f, "{bytes} bytes ({mega:.2} mbytes, {giga:.2} gbytes) in {seconds:.6} seconds")?;
        let (rate, giga) = (*bytes as f64 / seconds, *bytes as f64 * 8.0 / seconds / 1e9);
        let ways = if self.is_both_ways { "full-duplex" } else { "half-duplex" };
        writeln!(f, "{rate:.2} bytes/second, {giga:.4} gbit/second {ways}, {sessions} sessions")?;
        if let Some([sent, received]) = self.datagrams.filter(|_| self.is_both_ways) {
            writeln!(f, "sent total {sent} datagrams, received total {received} datagrams")?;
        }
        if *lost > 0 {
            let came = sent - lost;
            writeln!(f, "lost {lost} bytes: {came} bytes out of {sent} sent ({sent} target)")?;
        }
        Ok(())
    }
}
