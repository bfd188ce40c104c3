//! `vhost-user-process`: the sockets. Front ends are accepted or looked for, heard and answered.
#![forbid(unsafe_code)]

use std::io;
use std::path::Path;
use std::time::Duration;

use control::process::{Event, Wake};
use graph::{InputState, NodeIndex};
use net::{InterfaceIndex, Router};

use super::channel::{Channel, Heard};
use super::interface::{Connection, Link, Vhost, Vhosts};
use super::session::{Refused, Session};

/// Name of the process.
pub const NAME: &str = "vhost-user-process";
/// Seconds between two attempts to connect.
pub const RETRY: f64 = 1.0;
/// Requests of a front end that are heard in one go.
const MOST_REQUESTS: usize = 600;
/// Pauses between two looks at sockets where somebody spoke in the last second, and at others.
const BUSY: Duration = Duration::from_millis(1);
const IDLE: Duration = Duration::from_millis(50);

/// An interface that runs again, with the threads and modes of its queues and those which have to
/// be looked at all the time.
struct Again {
    index: InterfaceIndex,
    kept: Vec<(usize, InputState)>,
    silent: Vec<usize>,
}

/// A turn.
pub(super) fn run(router: &mut Router, _: Event) -> Wake {
    let done = router.with(|all: &mut Vhosts, router| all.turn(router));
    let Some((wake, again)) = done else { return Wake::AfterOrEvent(IDLE) };
    for Again { index, kept, silent } in again {
        for (number, (thread, mode)) in kept.into_iter().enumerate() {
            // There may be fewer queues or threads than there were.
            let _ = router.set_rx_mode(index, Some(number), mode);
            let _ = router.place_rx_queue(index, number, thread);
        }
        for number in silent {
            let _ = router.set_rx_mode(index, Some(number), InputState::Polling);
        }
    }
    wake
}

impl Vhosts {
    fn turn(&mut self, router: &mut Router) -> (Wake, Vec<Again>) {
        let (node, mut again) = (self.node, Vec::new());
        for vhost in &mut self.list {
            if let Link::Down(at) = vhost.link {
                vhost.look_for(router.now(), at);
            }
            match vhost.tend(router, node) {
                Ok(started) => again.extend(started),
                Err(Refused(why)) => {
                    if let Err(e) = vhost.disconnect(router, node, &why) {
                        let name = router.interfaces.name(vhost.index.0).to_owned();
                        let log = router.log.class("vhost-user", "default");
                        log.warn(format_args!("{name}: {e}"));
                    }
                }
            }
        }
        let is_busy = |vhost: &Vhost| match &vhost.link {
            Link::Up(connection) => router.now() - connection.heard < 1.0,
            Link::Down(_) => false,
        };
        let wake = match () {
            () if self.list.is_empty() => Wake::OnEvent,
            () if self.list.iter().any(is_busy) => Wake::AfterOrEvent(BUSY),
            () => Wake::AfterOrEvent(IDLE),
        };
        (wake, again)
    }
}

impl Vhost {
    /// Takes a front end that has come, or connects to one if it is time.
    fn look_for(&mut self, now: f64, due: f64) {
        let channel = match &self.listener {
            Some(listener) => listener.accept(),
            None if now < due => None,
            None => match Channel::connect(Path::new(&self.wanted.socket)) {
                Ok(channel) => Some(channel),
                Err(e) => {
                    self.why = format!("cannot connect: {}", control::cli::io_text(&e));
                    self.errno = errno(&e);
                    self.link = Link::Down(now + RETRY);
                    None
                }
            },
        };
        if let Some(channel) = channel {
            let session = Session::new(self.wanted.offer);
            self.link = Link::Up(Box::new(Connection { channel, session, heard: now }));
            self.errno = 0;
        }
    }
    /// Hears what the front end says; its queues, if they run again.
    fn tend(&mut self, router: &mut Router, node: NodeIndex) -> Result<Option<Again>, Refused> {
        let link = std::mem::replace(&mut self.link, Link::Down(0.0));
        let Link::Up(mut connection) = link else {
            self.link = link;
            return Ok(None);
        };
        let done = self.answer(router, node, &mut connection);
        self.link = Link::Up(connection);
        done
    }
    fn answer(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        connection: &mut Connection,
    ) -> Result<Option<Again>, Refused> {
        let Connection { channel, session, heard } = connection;
        if session.table.is_lost() {
            return Err("its memory is gone".into());
        }
        let mut is_changed = false;
        for _ in 0..MOST_REQUESTS {
            let (request, files) = match channel.hear() {
                Heard::Request(request, files) => (request, files),
                Heard::Nothing => break,
                Heard::Nonsense => return Err("not a request".into()),
                Heard::Closed => return Err("disconnected".into()),
            };
            *heard = router.now();
            if Session::disturbs(&request) {
                is_changed = true;
                self.halt(router, node, session).map_err(|e| Refused(e.to_string()))?;
            }
            if let Some(reply) = session.take(&request, files)? {
                channel.say(&reply)?;
            }
        }
        if !is_changed || !self.launch(router, node, session)? {
            return Ok(None);
        }
        let received = session.rings.iter().filter(|(number, _)| {
            let runs = |running: &super::interface::Running| {
                running.rings.iter().any(|(n, _)| n == *number)
            };
            *number % 2 == 1 && self.running.as_ref().is_some_and(runs)
        });
        let silent = received.enumerate().filter(|(_, (_, ring))| ring.is_silent);
        let silent = silent.map(|(number, _)| number).collect();
        Ok(Some(Again { index: self.index, kept: self.take_kept(), silent }))
    }
}

fn errno(e: &io::Error) -> i32 {
    e.raw_os_error().unwrap_or(0)
}
