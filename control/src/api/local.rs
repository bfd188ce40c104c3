//! A client in the same thread, without a socket: for tests and for programs inside.

use std::rc::Rc;

use tokio::sync::Notify;

use super::clients::Clients;
use super::dispatch::{Ignored, dispatch};
use super::field::{Reader, Short};
use super::message::{Call, Dump, Message, Reply, Stream};
use super::outgoing::{HEADER, HeadValues, request, split};
use super::registry::Api;
use super::retval::Retval;
use super::schema::MessageInfo;
use super::work::{Progress, Registries};
use crate::cli::Cli;

/// A connected client. Messages pass through their bytes as they do on the socket.
pub struct Local<'a, C> {
    api: &'a Api<C>,
    cli: &'a Cli<C>,
    clients: Clients,
    index: u32,
}

impl<'a, C: 'static> Local<'a, C> {
    /// Connects. `clients` is the context's; [`Api::finish`] must have been called with it.
    pub fn new(api: &'a Api<C>, cli: &'a Cli<C>, clients: &Clients) -> Self {
        let index = clients.connect("local".to_owned(), Rc::new(Notify::new()));
        clients.set_name(index, "local".to_owned());
        Self { api, cli, clients: clients.clone(), index }
    }

    /// Client index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Asks and waits for the one reply.
    ///
    /// # Errors
    /// The number in `retval` when it is not 0.
    ///
    /// # Panics
    /// If the handler of the message sends no reply, which is a programming error.
    #[track_caller]
    pub fn call<M: Call>(&self, cx: &mut C, message: &M) -> Result<M::Reply, Retval> {
        let answers = self.ask(cx, message);
        let answer = answers.first().expect("a call is answered");
        let (retval, reply) = parse(M::REPLY, answer);
        if retval != 0 { Err(Retval(retval)) } else { Ok(reply) }
    }

    /// Asks for the rows of a table.
    #[track_caller]
    pub fn dump<M: Dump>(&self, cx: &mut C, message: &M) -> Vec<M::Details> {
        let answers = self.ask(cx, message);
        answers.iter().map(|answer| parse(M::Details::INFO, answer).1).collect()
    }

    /// Asks for a piece of a table: rows, `retval` and the reply after them.
    ///
    /// # Panics
    /// If the handler of the message sends no reply, which is a programming error.
    #[track_caller]
    pub fn stream<M: Stream>(&self, cx: &mut C, message: &M) -> (Vec<M::Details>, i32, M::Reply) {
        let mut answers = self.ask(cx, message);
        let last = answers.pop().expect("a stream ends with a reply");
        let (retval, reply) = parse(M::Reply::INFO, &last);
        let rows = answers.iter().map(|answer| parse(M::Details::INFO, answer).1);
        (rows.collect(), retval, reply)
    }

    /// The events `E` received since the last call of this or of another method.
    pub fn events<E: Message>(&self) -> Vec<E> {
        let out = self.clients.take(self.index);
        let id = self.api.id(E::INFO.name);
        let is_it = |m: &&[u8]| m.first_chunk().map(|id| u16::from_be_bytes(*id)) == id;
        split(&out.bytes).into_iter().filter(is_it).map(|m| parse(E::INFO, m).1).collect()
    }

    /// Sends a message, which begins with its number, and returns all replies.
    pub fn send(&self, cx: &mut C, message: &[u8]) -> Result<Vec<Vec<u8>>, Ignored> {
        let job = dispatch(self.around(), cx, self.index, message)?;
        if let Some(mut job) = job {
            loop {
                match job.step(self.around(), cx) {
                    Progress::Done => break,
                    Progress::Again => {}
                    Progress::Sleep(time) => std::thread::sleep(time),
                    Progress::Wait => std::thread::sleep(std::time::Duration::from_millis(1)),
                }
            }
        }
        let out = self.clients.take(self.index);
        Ok(split(&out.bytes).into_iter().map(<[u8]>::to_vec).collect())
    }

    fn around(&self) -> Registries<'_, C> {
        Registries { api: self.api, cli: self.cli, clients: &self.clients }
    }

    #[track_caller]
    fn ask<M: Message>(&self, cx: &mut C, message: &M) -> Vec<Vec<u8>> {
        let id = self.api.id(M::INFO.name).expect("the message is registered");
        let head = HeadValues { client_index: self.index, context: 7, ..HeadValues::default() };
        let bytes = request(id, message, head);
        self.send(cx, &bytes[HEADER..]).expect("the message is well formed")
    }
}

impl<C> Drop for Local<'_, C> {
    fn drop(&mut self) {
        self.clients.release(self.index);
    }
}

/// `retval` (0 if it has none) and fields of an answer.
#[track_caller]
fn parse<R: Reply>(info: &MessageInfo, answer: &[u8]) -> (i32, R) {
    fn read<R: Reply>(info: &MessageInfo, answer: &[u8]) -> Result<(i32, R), Short> {
        let mut from = Reader::new(answer.get(2 + info.head.size()..).ok_or(Short)?);
        let retval = match info.retval_at() {
            Some(at) => answer.get(at..).and_then(|b| b.first_chunk()).copied().ok_or(Short)?,
            None => [0; 4],
        };
        Ok((i32::from_be_bytes(retval), R::decode_reply(&mut from)?))
    }
    read(info, answer).expect("an answer is as long as its declaration")
}
