//! `vhost-user-process`: the sockets. Front ends are accepted or looked for, heard and answered.
//!
//! The process sleeps until something comes on a socket, or it is time to connect.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use control::process::{Event, Wake};
use graph::{InputState, NodeIndex};
use net::{InterfaceIndex, Router};

use super::channel::{Channel, Heard};
use super::interface::{Connection, Link, Vhost, Vhosts};
use super::session::{Refused, Session};
use crate::host::serving::Kept;
use crate::host::turn::{RETRY, Turn};

/// Name of the process.
pub const NAME: &str = "vhost-user-process";
/// Requests of a front end that are heard in one go.
const MOST_REQUESTS: usize = 600;

/// Work that a turn of the process leaves.
type Done = Turn<Again>;

/// An interface that runs again, with the threads and modes of its queues and those which have to
/// be looked at all the time.
struct Again {
    index: InterfaceIndex,
    kept: Kept,
    silent: Vec<usize>,
}

/// A turn.
pub(super) fn run(router: &mut Router, _: Event) -> Wake {
    let turn = |all: &mut Vhosts, router: &mut Router| {
        let mut done = Done::default();
        all.turn(router, &mut done);
        (all.next_turn(router, &done), done.again)
    };
    let Some((wake, again)) = router.with(turn) else { return Wake::OnEvent };
    for Again { index, kept, silent } in again {
        kept.restore(router, index);
        for number in silent {
            let _ = router.set_rx_mode(index, Some(number), InputState::Polling);
        }
    }
    wake
}

impl Vhosts {
    fn turn(&mut self, router: &mut Router, done: &mut Done) {
        let node = self.node;
        for vhost in &mut self.list {
            if let Link::Down(at) = vhost.link {
                vhost.look_for(router, at, done);
            }
            match vhost.tend(router, node, done) {
                Ok(started) => done.again.extend(started),
                Err(Refused(why)) => match vhost.disconnect(router, node, &why) {
                    Ok(()) => done.is_busy = true,
                    Err(e) => {
                        (done.is_busy, done.has_failed) = (false, true);
                        let name = router.interfaces.name(vhost.index.0).to_owned();
                        let log = router.log.class("vhost-user", "default");
                        log.warn(format_args!("{name}: {e}"));
                    }
                },
            }
        }
    }
    fn next_turn(&self, router: &Router, done: &Done) -> Wake {
        let time = |v: &Vhost| match v.link {
            Link::Down(at) if v.listener.is_none() => Some(at),
            _ => None,
        };
        done.next(router.now(), self.list.iter().filter_map(time))
    }
}

impl Vhost {
    /// Takes a front end that has come, or connects to one if it is time.
    fn look_for(&mut self, router: &mut Router, due: f64, done: &mut Done) {
        let now = router.now();
        let found = match &self.listener {
            Some(listener) => listener.accept().map(Ok),
            None if now < due => None,
            None => Some(Channel::connect(Path::new(&self.wanted.socket))),
        };
        let heard = found.map(|channel| {
            let channel = channel?;
            router.processes.watch(NAME, channel.as_fd())?;
            Ok::<_, io::Error>(channel)
        });
        match heard {
            None => (),
            Some(Ok(channel)) => {
                done.is_busy = true;
                let session = Session::new(self.wanted.offer);
                self.link = Link::Up(Box::new(Connection { channel, session }));
                self.errno = 0;
            }
            Some(Err(e)) => {
                self.why = format!("cannot connect: {}", control::cli::io_text(&e));
                self.errno = errno(&e);
                self.link = Link::Down(now + RETRY);
            }
        }
    }
    /// Hears what the front end says; its queues, if they run again.
    fn tend(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        done: &mut Done,
    ) -> Result<Option<Again>, Refused> {
        let link = std::mem::replace(&mut self.link, Link::Down(0.0));
        let Link::Up(mut connection) = link else {
            self.link = link;
            return Ok(None);
        };
        let answered = self.answer(router, node, (&mut connection, done));
        self.link = Link::Up(connection);
        answered
    }
    fn answer(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        (connection, done): (&mut Connection, &mut Done),
    ) -> Result<Option<Again>, Refused> {
        let Connection { channel, session } = connection;
        if session.table.is_lost() {
            return Err("its memory was removed".into());
        }
        let mut is_changed = false;
        for _ in 0..MOST_REQUESTS {
            let (request, files) = match channel.hear() {
                Heard::Request(request, files) => (request, files),
                Heard::Nothing => break,
                Heard::Nonsense => return Err("not a request".into()),
                Heard::Closed => return Err("disconnected".into()),
            };
            done.is_busy = true;
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
        Ok(Some(Again { index: self.index, kept: std::mem::take(&mut self.kept), silent }))
    }
}

fn errno(e: &io::Error) -> i32 {
    e.raw_os_error().unwrap_or(0)
}
