//! `memif-process`: the control channels. Slaves connect and connect again, masters accept, and who
//! is gone is noticed.
#![forbid(unsafe_code)]

use std::time::Duration;

use control::process::{Event, Wake};
use graph::InputState;
use net::{InterfaceIndex, Router};
use wire::memif::{Init, Message, Text};

use super::channel::{Channel, Heard};
use super::interface::{Caller, Link, Memif, Memifs};
use super::session::{self, Master, Refused, Reply, Slave, Step};

/// Name of the process.
pub const NAME: &str = "memif-process";
/// Seconds between two attempts of a slave.
pub const RETRY: f64 = 1.0;
/// Seconds that a handshake may take.
const PATIENCE: f64 = 5.0;
/// Slaves of a socket that may be talking at a time.
const MOST_CALLERS: usize = 64;
/// Messages of a channel that are heard in one go.
const MOST_MESSAGES: usize = 600;
/// Time between two looks at channels in use, and at others.
const BUSY: Duration = Duration::from_millis(1);
const IDLE: Duration = Duration::from_millis(50);

/// Work that a turn of the process leaves.
struct Done {
    wake: Wake,
    /// Interfaces that connected again, with the threads and modes that their queues had.
    again: Vec<(InterfaceIndex, Vec<(usize, InputState)>)>,
}

/// A turn.
pub(super) fn run(router: &mut Router, _: Event) -> Wake {
    let Some(done) = router.with(|all: &mut Memifs, router| all.turn(router)) else {
        return Wake::AfterOrEvent(IDLE);
    };
    for (index, kept) in done.again {
        for (number, (thread, mode)) in kept.into_iter().enumerate() {
            // There may be fewer queues or threads than there were.
            let _ = router.set_rx_mode(index, Some(number), mode);
            let _ = router.place_rx_queue(index, number, thread);
        }
    }
    done.wake
}

impl Memifs {
    fn turn(&mut self, router: &mut Router) -> Done {
        let (mut again, node) = (Vec::new(), self.node);
        for at in 0..self.list.len() {
            let memif = &mut self.list[at];
            let is_up = router.interfaces.at(memif.index).is_some_and(|i| i.admin_up);
            let done =
                if is_up { memif.tend(router, node) } else { Err("interface is down".into()) };
            match done {
                Ok(true) => again.push((memif.index, memif.take_kept())),
                Ok(false) => (),
                Err(Refused(why)) => end(memif, router, node, &why),
            }
            let (socket, wish) = (memif.wanted.socket, memif.wanted.wish());
            let is_due = matches!(&memif.link, Link::Down(at) if *at <= router.now());
            if is_up && is_due && !memif.wanted.is_master {
                let address = &self.sockets[&socket].address;
                let deadline = router.now() + PATIENCE;
                let memif = &mut self.list[at];
                memif.link = match address.connect() {
                    Ok(channel) => Link::Calling(channel, Slave::new(wish), deadline),
                    Err(e) => {
                        memif.why = format!("cannot connect: {}", control::cli::io_text(&e));
                        Link::Down(router.now() + RETRY)
                    }
                };
            }
        }
        // The next one may have come before the last one had gone.
        self.hear_callers(router, &mut again);
        Done { wake: self.next_turn(), again }
    }
    fn next_turn(&self) -> Wake {
        let is_calling = |m: &Memif| matches!(m.link, Link::Calling(..));
        let is_called = self.sockets.values().any(|s| !s.callers.is_empty());
        match () {
            () if self.list.is_empty() => Wake::OnEvent,
            () if is_called || self.list.iter().any(is_calling) => Wake::AfterOrEvent(BUSY),
            () => Wake::AfterOrEvent(IDLE),
        }
    }
    /// Accepts slaves and answers them.
    fn hear_callers(
        &mut self,
        router: &mut Router,
        again: &mut Vec<(InterfaceIndex, Vec<(usize, InputState)>)>,
    ) {
        let deadline = router.now() + PATIENCE;
        for id in self.sockets.keys().copied().collect::<Vec<_>>() {
            let Some(socket) = self.sockets.get_mut(&id) else { continue };
            let mut callers = std::mem::take(&mut socket.callers);
            if let Some(listener) = &socket.listener {
                for channel in std::iter::from_fn(|| listener.accept()).take(MOST_CALLERS) {
                    let can_talk = callers.len() < MOST_CALLERS;
                    if can_talk && channel.say(&session::hello(), None).is_ok() {
                        let session = Master::default();
                        callers.push(Caller { channel, session, interface: None, deadline });
                    }
                }
            }
            for mut caller in callers {
                match self.answer(router, id, &mut caller) {
                    Ok(None) => self.keep(id, caller),
                    Ok(Some(linked)) => {
                        let memif =
                            self.list.iter_mut().find(|m| Some(m.index) == caller.interface);
                        let Some(memif) = memif else { continue };
                        let node = self.node;
                        match memif.connect(router, node, (caller.channel, linked)) {
                            Ok(()) => again.push((memif.index, memif.take_kept())),
                            Err(Refused(why)) => end(memif, router, node, &why),
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
        caller: &mut Caller,
    ) -> Result<Option<session::Linked>, Refused> {
        for _ in 0..MOST_MESSAGES {
            let (message, file) = match next(&caller.channel, router.now() > caller.deadline)? {
                Some(heard) => heard,
                None => return Ok(None),
            };
            match caller.session.take(&message, file)? {
                Reply::Ack => (),
                Reply::Init(init) => {
                    caller.interface = Some(self.asked_for(router, socket, &init)?)
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
    /// The interface that a slave wants to be connected to, if it may.
    fn asked_for(
        &self,
        router: &Router,
        socket: u32,
        init: &Init,
    ) -> Result<InterfaceIndex, Refused> {
        let key = (socket, init.id.get());
        let memif = self.list.iter().find(|m| (m.wanted.socket, m.wanted.id) == key);
        let memif = memif.filter(|m| m.wanted.is_master).ok_or("unmatched interface id")?;
        let wish = memif.wanted.wish();
        if !router.interfaces.at(memif.index).is_some_and(|i| i.admin_up) {
            return Err("interface is down".into());
        }
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

/// Next message of a peer; `None` when there is none and need not be.
fn next(
    channel: &Channel,
    is_late: bool,
) -> Result<Option<(Message, Option<std::os::fd::OwnedFd>)>, Refused> {
    match channel.hear() {
        Heard::Message(message, file) => Ok(Some((message, file))),
        Heard::Nothing if is_late => Err("timeout".into()),
        Heard::Nothing => Ok(None),
        Heard::Nonsense => Err("not a message".into()),
        Heard::Closed => Err("disconnected".into()),
    }
}

fn end(memif: &mut Memif, router: &mut Router, node: graph::NodeIndex, why: &str) {
    if let Err(e) = memif.disconnect(router, node, why) {
        let name = memif.wanted.name();
        router.log.class("memif", "default").warn(format_args!("{name}: {e}"));
    }
}

impl Memif {
    /// Hears what the peer says; whether that connected them.
    fn tend(&mut self, router: &mut Router, node: graph::NodeIndex) -> Result<bool, Refused> {
        match &mut self.link {
            Link::Down(_) => Ok(false),
            Link::Up(_, peer) if peer.is_lost() => Err("its memory is gone".into()),
            Link::Up(channel, _) => match next(channel, false)? {
                Some((Message::Disconnect(said), _)) => Err(Refused(said.text.to_string())),
                Some(_) => Err("unexpected message".into()),
                None => Ok(false),
            },
            Link::Calling(channel, slave, deadline) => {
                for _ in 0..MOST_MESSAGES {
                    let is_late = router.now() > *deadline;
                    let Some((message, _)) = next(channel, is_late)? else { return Ok(false) };
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
