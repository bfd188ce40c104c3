//! A connection to a router.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use infra::memory::lane::Lane;

use crate::codec::Codec;
use crate::error::Error;
use crate::link::Link;
use crate::messages::{
    ControlPing, ControlPingReply, FerroviaLaneCreate, FerroviaLaneCreateReply, SockclntCreate,
    SockclntCreateReply,
};
use crate::{Call, Dump, Message, Stream};

/// Bytes before each message: eight without meaning, its length, four without meaning.
const HEADER: usize = 16;
/// Number of the message that connects; all others are in the table that answers it.
const CREATE: u16 = 15;
/// Bytes of requests that are sent at once.
const BATCH: usize = 64 << 10;
/// Most requests without an answer, so that the router has room for their replies and never has to
/// wait for us while we wait for it.
const WINDOW: usize = 8192;

/// A connection to a router. Not for several threads; each may have its own.
#[derive(Debug)]
pub struct Client {
    link: Link,
    /// The number the router gave us.
    index: u32,
    /// Numbers of messages by name and CRC.
    ids: HashMap<String, u16>,
    context: u32,
    output: Vec<u8>,
    input: Vec<u8>,
    /// Number of bytes taken from `input`.
    taken: usize,
    events: VecDeque<Event>,
}

/// An unsolicited message: see [`Client::event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    id: u16,
    bytes: Vec<u8>,
}

impl Client {
    /// Connects to the socket of the binary API; `name` is what the router lists the client as.
    ///
    /// # Errors
    /// The socket's, and [`Error::Nonsense`] when it is not a router that answers.
    pub fn connect(path: impl AsRef<Path>, name: &str) -> Result<Self, Error> {
        let mut client = Self {
            link: Link::new(UnixStream::connect(path)?),
            index: 0,
            ids: HashMap::new(),
            context: 0,
            output: Vec::new(),
            input: Vec::new(),
            taken: 0,
            events: VecDeque::new(),
        };
        client.put(CREATE, 0, &SockclntCreate { name: name.to_owned() });
        client.flush()?;
        let reply = client.next()?;
        let (id, bytes) = parts(&client.input[reply])?;
        if id != CREATE + 1 {
            return Err(Error::Nonsense("answer"));
        }
        let mut from = bytes.get(8..).ok_or(Error::Nonsense("answer"))?;
        let reply = SockclntCreateReply::decode(&mut from)?;
        if reply.response != 0 {
            return Err(Error::Refused(reply.response));
        }
        client.index = reply.index;
        client.ids = reply.message_table.into_iter().map(|m| (m.name, m.index)).collect();
        Ok(client)
    }

    /// As [`Client::connect`], and then goes on through memory shared with the router, with room
    /// for `bytes` (up to 16 MB) each way: the same messages, without a system call for each batch.
    ///
    /// # Errors
    /// As above; [`Error::Unknown`] when the router has no such way, [`Error::Refused`] when it has
    /// enough of them.
    pub fn connect_shared(path: impl AsRef<Path>, name: &str, bytes: u32) -> Result<Self, Error> {
        let mut client = Self::connect(path, name)?;
        let id = client.id::<FerroviaLaneCreate>()?;
        client.context += 1;
        client.put(id, client.context, &FerroviaLaneCreate { size: bytes });
        client.flush()?;
        let reply = client.next()?;
        decode::<FerroviaLaneCreateReply>(parts(&client.input[reply])?.1)?;
        let file = client.link.descriptor().ok_or(Error::Nonsense("answer"))?;
        client.link.enter(Lane::open(file)?);
        Ok(client)
    }

    /// Whether the router has a message with these fields.
    pub fn has<M: Message>(&self) -> bool {
        self.ids.contains_key(M::NAME)
    }

    /// Asks and waits for the reply.
    ///
    /// # Errors
    /// [`Error::Refused`] when the reply has an error number.
    pub fn call<M: Call>(&mut self, request: &M) -> Result<M::Reply, Error> {
        let mut reply = None;
        self.run::<M>([request].into_iter(), |_, result| reply = Some(result))?;
        reply.ok_or(Error::Nonsense("answer"))?
    }

    /// Asks many times without waiting for each reply. Replies are given to `each` in the order of
    /// their requests, with their position from 0. Returns how many were refused.
    ///
    /// # Errors
    /// [`Error::Unknown`] and those of the connection; what was refused is for `each`.
    pub fn calls<M: Call>(
        &mut self,
        requests: impl IntoIterator<Item = M>,
        each: impl FnMut(usize, Result<M::Reply, Error>),
    ) -> Result<usize, Error> {
        self.run(requests.into_iter(), each)
    }

    /// All rows of a table.
    ///
    /// # Errors
    /// As for [`Client::dump_each`].
    pub fn dump<M: Dump>(&mut self, request: &M) -> Result<Vec<M::Details>, Error> {
        let mut rows = Vec::new();
        self.dump_each(request, |row| rows.push(row))?;
        Ok(rows)
    }

    /// Gives all rows of a table to `each`, as they come.
    ///
    /// # Errors
    /// [`Error::Unknown`] and those of the connection. A table that does not exist has no rows.
    pub fn dump_each<M: Dump>(
        &mut self,
        request: &M,
        each: impl FnMut(M::Details),
    ) -> Result<(), Error> {
        let (id, ping) = (self.id::<M>()?, self.id::<ControlPing>()?);
        self.context = self.context.wrapping_add(1);
        self.put(id, self.context, request);
        // It is answered behind the last row.
        self.put(ping, self.context, &ControlPing::default());
        self.rows::<M::Details, ControlPingReply>(each).map(|_| ())
    }

    /// Gives all rows of a table to `each`, as they come, and returns the reply behind them. With
    /// the error number -165 there are more: ask again with the cursor of the reply, which is why
    /// the reply comes here also when it has an error number.
    ///
    /// # Errors
    /// [`Error::Unknown`] and those of the connection.
    pub fn stream<M: Stream>(
        &mut self,
        request: &M,
        each: impl FnMut(M::Details),
    ) -> Result<M::Reply, Error> {
        let id = self.id::<M>()?;
        self.context = self.context.wrapping_add(1);
        self.put(id, self.context, request);
        self.rows::<M::Details, M::Reply>(each)
    }

    /// The next event, if one arrives in time. [`Event::decode`] decodes it.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn event(&mut self, limit: Duration) -> Result<Option<Event>, Error> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Some(event));
        }
        self.link.limit(Some(limit.max(Duration::from_millis(1))))?;
        let next = self.next();
        self.link.limit(None)?;
        match next {
            Ok(message) => {
                let (id, bytes) = parts(&self.input[message])?;
                Ok(Some(Event { id, bytes: bytes.to_vec() }))
            }
            Err(Error::Io(error))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Fields of an event, if it is this message.
    pub fn decode<M: Message>(&self, event: &Event) -> Option<M> {
        let is_it = self.ids.get(M::NAME) == Some(&event.id);
        is_it.then(|| fields::<M>(&event.bytes).ok()).flatten()
    }

    fn run<M: Call>(
        &mut self,
        mut requests: impl Iterator<Item = impl Borrow<M>>,
        mut each: impl FnMut(usize, Result<M::Reply, Error>),
    ) -> Result<usize, Error> {
        let (id, reply) = (self.id::<M>()?, self.id::<M::Reply>()?);
        let first = self.context;
        let (mut sent, mut answered, mut refused) = (0, 0, 0);
        let mut is_more = true;
        loop {
            while is_more && sent - answered < WINDOW && self.output.len() < BATCH {
                let Some(request) = requests.next() else {
                    is_more = false;
                    break;
                };
                self.context = self.context.wrapping_add(1);
                self.put(id, self.context, request.borrow());
                sent += 1;
            }
            self.flush()?;
            if answered == sent && !is_more {
                return Ok(refused);
            }
            // What is here already is taken before more is sent.
            while answered < sent {
                let message = self.next()?;
                let (is, bytes) = parts(&self.input[message])?;
                let context = context_of::<M::Reply>(bytes);
                if is != reply || context != Some(first.wrapping_add(answered as u32 + 1)) {
                    let event = Event { id: is, bytes: bytes.to_vec() };
                    self.events.push_back(event);
                    continue;
                }
                let result = decode::<M::Reply>(bytes);
                refused += usize::from(result.is_err());
                each(answered, result);
                answered += 1;
                if is_more && !self.has_whole() && sent - answered < WINDOW / 2 {
                    break;
                }
            }
        }
    }

    fn rows<D: Message, R: Message>(&mut self, mut each: impl FnMut(D)) -> Result<R, Error> {
        let (row, last) = (self.id::<D>()?, self.id::<R>()?);
        self.flush()?;
        let own = Some(self.context);
        loop {
            let message = self.next()?;
            let (id, bytes) = parts(&self.input[message])?;
            let is_row = id == row && context_of::<D>(bytes) == own;
            let is_last = id == last && context_of::<R>(bytes) == own;
            if !is_row && !is_last {
                let event = Event { id, bytes: bytes.to_vec() };
                self.events.push_back(event);
            } else if is_row {
                each(fields(bytes)?);
            } else {
                return fields(bytes);
            }
        }
    }

    fn id<M: Message>(&self) -> Result<u16, Error> {
        self.ids.get(M::NAME).copied().ok_or(Error::Unknown(M::NAME))
    }

    fn put<M: Message>(&mut self, id: u16, context: u32, message: &M) {
        let start = self.output.len();
        self.output.resize(start + HEADER, 0);
        id.encode(&mut self.output);
        if M::HEAD == 2 {
            self.index.encode(&mut self.output);
        }
        if M::HEAD > 0 {
            context.encode(&mut self.output);
        }
        message.encode(&mut self.output);
        let len = (self.output.len() - start - HEADER) as u32;
        self.output[start + 8..start + 12].copy_from_slice(&len.to_be_bytes());
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.link.write(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// Length of the next message, if its header is here.
    fn next_len(&self) -> Option<usize> {
        let header: &[u8; HEADER] = self.input[self.taken..].first_chunk()?;
        let len = header[8..12].try_into().expect("four bytes");
        Some(u32::from_be_bytes(len) as usize)
    }

    fn has_whole(&self) -> bool {
        self.next_len().is_some_and(|len| self.input.len() - self.taken >= HEADER + len)
    }

    /// Place of the next message, behind its header. It is taken.
    fn next(&mut self) -> Result<std::ops::Range<usize>, Error> {
        while !self.has_whole() {
            self.input.drain(..self.taken);
            self.taken = 0;
            let room = self.next_len().unwrap_or(0);
            self.link.read(&mut self.input, room)?;
        }
        let start = self.taken + HEADER;
        self.taken = start + self.next_len().unwrap_or(0);
        Ok(start..self.taken)
    }
}

/// Number of a message and what follows it.
fn parts(message: &[u8]) -> Result<(u16, &[u8]), Error> {
    let (id, rest) = message.split_first_chunk().ok_or(Error::Nonsense("message"))?;
    Ok((u16::from_be_bytes(*id), rest))
}

/// The request that a message is an answer to.
fn context_of<M: Message>(bytes: &[u8]) -> Option<u32> {
    let at = 4 * M::HEAD.checked_sub(1)?;
    bytes.get(at..)?.first_chunk().map(|context| u32::from_be_bytes(*context))
}

fn fields<M: Message>(bytes: &[u8]) -> Result<M, Error> {
    let mut from = bytes.get(4 * M::HEAD..).ok_or(Error::Nonsense(M::NAME))?;
    M::decode(&mut from).map_err(|_| Error::Nonsense(M::NAME))
}

/// A reply, or its error number.
fn decode<M: Message>(bytes: &[u8]) -> Result<M, Error> {
    let message: M = fields(bytes)?;
    match message.retval() {
        0 => Ok(message),
        number => Err(Error::Refused(number)),
    }
}
