//! Answers to requests: at once, or by work in slices.

use std::marker::PhantomData;
use std::time::Duration;

use super::clients::Clients;
use super::message::{Call, Message};
use super::outgoing::{HeadValues, Outgoing};
use super::registry::Api;
use super::retval::Retval;
use crate::cli::Cli;

/// The client that sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Client index.
    pub client: u32,
    /// The client's number for the request.
    pub context: u32,
}

/// All messages and all commands, beside the router.
pub struct Registries<'a, C> {
    /// All messages.
    pub api: &'a Api<C>,
    /// All commands.
    pub cli: &'a Cli<C>,
    /// All clients.
    pub clients: &'a Clients,
}

impl<C> Clone for Registries<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Registries<'_, C> {}

/// Answering a request in slices. Between two others get their turn; requests of the same client
/// wait until it is done.
pub trait Work<C> {
    /// Does a little, well under 2 ms. It is called again at once as long as there is time and
    /// room for answers.
    fn step(&mut self, cx: &mut C, around: Registries<'_, C>, out: &mut Outgoing) -> Progress;

    /// Cleans up the work when its client has disconnected.
    fn cancel(&mut self, cx: &mut C) {
        let _ = cx;
    }
}

/// Outcome of a slice of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All is answered.
    Done,
    /// More to do.
    Again,
    /// More to do after this time.
    Sleep(Duration),
    /// More to do after something has changed.
    Wait,
}

/// Rows, one after the other.
pub(super) struct Rows<D, N> {
    pub next: N,
    pub id: u16,
    pub caller: Caller,
    pub details: PhantomData<D>,
}

impl<C, D: Message, N: FnMut(&mut C) -> Option<D>> Work<C> for Rows<D, N> {
    fn step(&mut self, cx: &mut C, _: Registries<'_, C>, out: &mut Outgoing) -> Progress {
        // Enough for the loop around it to cost nothing.
        for _ in 0..16 {
            let Some(row) = (self.next)(cx) else { return Progress::Done };
            let head = HeadValues { context: self.caller.context, ..HeadValues::default() };
            out.message(self.id, D::INFO, head, |bytes| row.encode(bytes));
        }
        Progress::Again
    }
}

/// Rows that are made some at a time.
pub(super) struct SomeRows<D, N> {
    /// Makes more, until there are none.
    pub more: Option<N>,
    /// Rows to be sent.
    pub rows: std::vec::IntoIter<D>,
    pub id: u16,
    pub caller: Caller,
}

impl<C, D: Message, N: FnMut(&mut C, &mut Vec<D>) -> bool> Work<C> for SomeRows<D, N> {
    fn step(&mut self, cx: &mut C, _: Registries<'_, C>, out: &mut Outgoing) -> Progress {
        let head = HeadValues { context: self.caller.context, ..HeadValues::default() };
        for row in self.rows.by_ref().take(16) {
            out.message(self.id, D::INFO, head, |bytes| row.encode(bytes));
        }
        if self.rows.len() > 0 {
            return Progress::Again;
        }
        let Some(more) = &mut self.more else { return Progress::Done };
        let mut rows = Vec::new();
        if !more(cx, &mut rows) {
            self.more = None;
        }
        self.rows = rows.into_iter();
        Progress::Again
    }
}

/// One reply that takes its time.
pub(super) struct DeferredReply<M, T> {
    pub task: T,
    pub id: u16,
    pub caller: Caller,
    pub request: PhantomData<M>,
}

/// Long work of a request with one reply, in slices.
pub trait Task<C> {
    /// Its target.
    type Reply;

    /// Does a slice of at most 2 ms.
    fn step(&mut self, cx: &mut C) -> Slice<Self::Reply>;

    /// Cleans up the task when its client has disconnected.
    fn cancel(&mut self, cx: &mut C) {
        let _ = cx;
    }
}

/// Outcome of a slice of a [`Task`].
pub enum Slice<R> {
    /// The reply.
    Done(Result<R, Retval>),
    /// More to do at once.
    Again,
    /// More to do after this time.
    Sleep(Duration),
    /// More to do after something has changed.
    Wait,
}

impl<C, M: Call, T: Task<C, Reply = M::Reply>> Work<C> for DeferredReply<M, T> {
    fn step(&mut self, cx: &mut C, _: Registries<'_, C>, out: &mut Outgoing) -> Progress {
        match self.task.step(cx) {
            Slice::Again => Progress::Again,
            Slice::Sleep(time) => Progress::Sleep(time),
            Slice::Wait => Progress::Wait,
            Slice::Done(result) => {
                reply::<M>(self.id, self.caller, result, out);
                Progress::Done
            }
        }
    }

    fn cancel(&mut self, cx: &mut C) {
        self.task.cancel(cx);
    }
}

/// Adds the reply to a call.
pub(super) fn reply<M: Call>(
    id: u16,
    caller: Caller,
    result: Result<M::Reply, Retval>,
    out: &mut Outgoing,
) {
    use super::message::Reply;
    let Caller { client, context } = caller;
    let mut head = HeadValues { client_index: client, context, ..HeadValues::default() };
    match result {
        Ok(reply) => out.message(id, M::REPLY, head, |bytes| reply.encode_reply(bytes)),
        Err(Retval(number)) => {
            head.retval = number;
            out.failed(id, M::REPLY, head);
        }
    }
}
