//! `memif-process`: the control channels. Slaves connect and connect again, masters accept, and who
//! is gone is noticed.
//!
//! The process sleeps until something comes on a channel or a listening socket, or a time is over.
#![forbid(unsafe_code)]

use std::mem::take;
use std::os::fd::{AsFd, OwnedFd};

use control::process::{Event, Wake};
use control::socket::ClosedElsewhere;
use net::{InterfaceIndex, Router};
use wire::memif::{Init, Message, Text};

use super::channel::{Channel, Heard, Listener};
use super::interface::{Caller, Link, Memif, Memifs};
use super::session::{self, Master, Refused, Reply, Slave, Step};
use crate::host::serving::Kept;
use crate::host::turn::{RETRY, Turn};

/// Name of the process.
pub const NAME: &str = "memif-process";
/// Seconds that a handshake may take.
const PATIENCE: f64 = 5.0;
/// Slaves of a socket that may be talking at a time.
const MOST_CALLERS: usize = 64;
/// Seconds that a slave waits for its interface to be switched on.
const SWITCHING: f64 = 3.0;
/// Reason for the end of a handshake that took longer.
const LATE: &str = "timeout";
/// Messages of a channel that are heard in one go.
const MOST_MESSAGES: usize = 600;

/// Work that a turn of the process leaves; interfaces that connected again, with the threads and
/// modes that their queues had.
type Done = Turn<(InterfaceIndex, Kept)>;

/// A turn.
pub(super) fn run(router: &mut Router, _: Event) -> Wake {
    let turn = |all: &mut Memifs, router: &mut Router| {
        let mut done = Done::default();
        all.turn(router, &mut done);
        (all.next_turn(router, &done), done.again)
    };
    let Some((wake, again)) = router.with(turn) else { return Wake::OnEvent };
    for (index, kept) in again {
        kept.restore(router, index);
    }
    wake
}

impl Memifs {
    fn turn(&mut self, router: &mut Router, done: &mut Done) {
        let node = self.node;
        for at in 0..self.list.len() {
            let memif = &mut self.list[at];
            let is_up = router.interfaces.at(memif.index).is_some_and(|i| i.admin_up);
            let tended = match is_up {
                true => memif.tend(router, node, done),
                false => Err("interface is down".into()),
            };
            match tended {
                Ok(true) => done.again.push((memif.index, take(&mut memif.kept))),
                Ok(false) => (),
                Err(Refused(why)) => end(memif, router, node, (&why, done)),
            }
            let is_due = matches!(&memif.link, Link::Down(at) if *at <= router.now());
            if is_up && is_due && !memif.wanted.is_master {
                self.call(router, at, done);
            }
        }
        // The next one may have come before the last one had gone.
        self.hear_callers(router, done);
    }
    /// Connects a slave to its master.
    fn call(&mut self, router: &mut Router, at: usize, done: &mut Done) {
        let memif = &mut self.list[at];
        let called = self.sockets[&memif.wanted.socket].address.connect().and_then(|channel| {
            router.processes.watch(NAME, channel.as_fd())?;
            Ok(channel)
        });
        memif.link = match called {
            Ok(channel) => {
                done.is_busy = true;
                let deadline = router.now() + PATIENCE;
                Link::Calling(channel, Slave::new(memif.wanted.wish()), deadline)
            }
            Err(e) => {
                memif.why = format!("cannot connect: {}", control::cli::io_text(&e));
                Link::Down(router.now() + RETRY)
            }
        };
    }
    fn next_turn(&self, router: &Router, done: &Done) -> Wake {
        let is_up = |m: &Memif| router.interfaces.at(m.index).is_some_and(|i| i.admin_up);
        let time = |m: &Memif| match &m.link {
            Link::Down(at) => (!m.wanted.is_master && is_up(m)).then_some(*at),
            Link::Calling(_, _, deadline) => Some(*deadline),
            Link::Up(..) => None,
        };
        let callers = self.sockets.values().flat_map(|socket| &socket.callers);
        let times = self.list.iter().filter_map(time).chain(callers.map(|c| c.deadline));
        done.next(router.now(), times)
    }
    /// Accepts slaves and answers them.
    fn hear_callers(&mut self, router: &mut Router, done: &mut Done) {
        for id in self.sockets.keys().copied().collect::<Vec<_>>() {
            let Some(socket) = self.sockets.get_mut(&id) else { continue };
            let mut callers = std::mem::take(&mut socket.callers);
            if let Some(listener) = &socket.listener {
                accept(listener, router, (&mut callers, done));
            }
            for mut caller in callers {
                match self.answer(router, id, (&mut caller, done)) {
                    Ok(None) => self.keep(id, caller),
                    Ok(Some(linked)) => {
                        let memif =
                            self.list.iter_mut().find(|m| Some(m.index) == caller.interface);
                        let Some(memif) = memif else { continue };
                        let node = self.node;
                        match memif.connect(router, node, (caller.channel, linked)) {
                            Ok(()) => done.again.push((memif.index, take(&mut memif.kept))),
                            Err(Refused(why)) => end(memif, router, node, (&why, done)),
                        }
                    }
                    Err(refused) => {
                        // It may be gone already.
                        let _ = caller.channel.say(&refused.to_message(), None);
                        let index = caller.interface;
                        if let Some(m) = self.list.iter_mut().find(|m| Some(m.index) == index) {
                            m.why = refused.0;
                        }
                    }
                }
            }
        }
    }
    fn keep(&mut self, socket: u32, caller: Caller) {
        if let Some(socket) = self.sockets.get_mut(&socket) {
            socket.callers.push(caller);
        }
    }
    /// Hears what a slave says; `Some` when it is connected.
    fn answer(
        &mut self,
        router: &Router,
        socket: u32,
        (caller, done): (&mut Caller, &mut Done),
    ) -> Result<Option<session::Linked>, Refused> {
        for _ in 0..MOST_MESSAGES {
            let is_admitted = self.admit(router, socket, caller)?;
            let (message, file) = match next(&caller.channel, router.now() >= caller.deadline) {
                Ok(Some(_)) if !is_admitted => return Err("unexpected message".into()),
                Err(Refused(why)) if !is_admitted && why == LATE => {
                    return Err("interface is down".into());
                }
                heard => match heard? {
                    Some(heard) => heard,
                    None => return Ok(None),
                },
            };
            done.is_busy = true;
            match caller.session.take(&message, file.map(ClosedElsewhere::into_inner))? {
                Reply::Ack => (),
                Reply::Init(init) => {
                    caller.waiting = Some(init);
                    caller.deadline = router.now() + SWITCHING;
                    continue;
                }
                Reply::Closed(why) => return Err(Refused(why)),
                Reply::Connected(linked) => {
                    let memif = self.list.iter().find(|m| Some(m.index) == caller.interface);
                    let memif = memif.ok_or("interface deleted")?;
                    if matches!(memif.link, Link::Up(..)) {
                        return Err("already connected".into());
                    }
                    let name = Message::Connected(Text::of(&memif.wanted.name()));
                    caller.channel.say(&name, None)?;
                    return Ok(Some(linked));
                }
            }
            caller.channel.say(&Message::Ack, None)?;
        }
        Ok(None)
    }
    /// Tells a slave that has asked for an interface that it may go on; false while the interface
    /// is switched off. It may be switched on any moment, and some slaves ask only once.
    fn admit(&self, router: &Router, socket: u32, caller: &mut Caller) -> Result<bool, Refused> {
        let Some(init) = &caller.waiting else { return Ok(true) };
        let index = self.asked_for(socket, init)?;
        caller.interface = Some(index);
        if !router.interfaces.at(index).is_some_and(|i| i.admin_up) {
            return Ok(false);
        }
        caller.waiting = None;
        caller.deadline = router.now() + PATIENCE;
        caller.channel.say(&Message::Ack, None)?;
        Ok(true)
    }
    /// The interface that a slave wants to be connected to, if it may.
    fn asked_for(&self, socket: u32, init: &Init) -> Result<InterfaceIndex, Refused> {
        let key = (socket, init.id.get());
        let memif = self.list.iter().find(|m| (m.wanted.socket, m.wanted.id) == key);
        let memif = memif.filter(|m| m.wanted.is_master).ok_or("unmatched interface id")?;
        let wish = memif.wanted.wish();
        if matches!(memif.link, Link::Up(..)) {
            return Err("already connected".into());
        }
        if init.mode != wish.mode {
            return Err("mode mismatch".into());
        }
        if !wish.secret.is_empty() && init.secret.bytes() != wish.secret.as_bytes() {
            return Err("incorrect secret".into());
        }
        Ok(memif.index)
    }
}

/// A message with its descriptor.
type WithFile = (Message, Option<ClosedElsewhere<OwnedFd>>);

/// Next message of a peer; `None` when there is none and need not be.
fn next(channel: &Channel, is_late: bool) -> Result<Option<WithFile>, Refused> {
    match channel.hear() {
        Heard::Message(message, file) => Ok(Some((message, file))),
        Heard::Nothing if is_late => Err(LATE.into()),
        Heard::Nothing => Ok(None),
        Heard::Nonsense => Err("not a message".into()),
        Heard::Closed => Err("disconnected".into()),
    }
}

/// Takes the slaves that wait, as many as may be talking.
fn accept(
    listener: &Listener,
    router: &mut Router,
    (callers, done): (&mut Vec<Caller>, &mut Done),
) {
    let deadline = router.now() + PATIENCE;
    for channel in std::iter::from_fn(|| listener.accept()).take(MOST_CALLERS) {
        done.is_busy = true;
        let can_talk = callers.len() < MOST_CALLERS
            && router.processes.watch(NAME, channel.as_fd()).is_ok()
            && channel.say(&session::hello(), None).is_ok();
        if can_talk {
            let session = Master::default();
            callers.push(Caller { channel, session, waiting: None, interface: None, deadline });
        }
    }
}

fn end(
    memif: &mut Memif,
    router: &mut Router,
    node: graph::NodeIndex,
    (why, done): (&str, &mut Done),
) {
    done.is_busy |= !matches!(memif.link, Link::Down(_));
    if let Err(e) = memif.disconnect(router, node, why) {
        (done.is_busy, done.has_failed) = (false, true);
        let name = memif.wanted.name();
        router.log.class("memif", "default").warn(format_args!("{name}: {e}"));
    }
}

impl Memif {
    /// Hears what the peer says; whether that connected them.
    fn tend(
        &mut self,
        router: &mut Router,
        node: graph::NodeIndex,
        done: &mut Done,
    ) -> Result<bool, Refused> {
        match &mut self.link {
            Link::Down(_) => Ok(false),
            Link::Up(_, peer) if peer.is_lost() => Err("its memory was removed".into()),
            Link::Up(channel, _) => match next(channel, false)? {
                Some((Message::Disconnect(said), _)) => Err(Refused(said.text.to_string())),
                Some(_) => Err("unexpected message".into()),
                None => Ok(false),
            },
            Link::Calling(channel, slave, deadline) => {
                for _ in 0..MOST_MESSAGES {
                    let is_late = router.now() >= *deadline;
                    let Some((message, _)) = next(channel, is_late)? else { return Ok(false) };
                    done.is_busy = true;
                    match slave.take(&message)? {
                        Step::Say(message, file) => channel.say(&message, file)?,
                        Step::Closed(why) => return Err(Refused(why)),
                        Step::Connected(linked) => {
                            let calling = std::mem::replace(&mut self.link, Link::Down(0.0));
                            let Link::Calling(channel, ..) = calling else { return Ok(false) };
                            self.connect(router, node, (channel, linked))?;
                            return Ok(true);
                        }
                    }
                }
                Ok(false)
            }
        }
    }
}
