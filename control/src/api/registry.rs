//! All messages of a router: which module has them, which number they have, who answers them.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use super::clients::Clients;
use super::crc;
use super::describe;
use super::directory::Directory;
use super::field::{Reader, Short};
use super::message::{Call, Dump, Message, Request, Stream};
use super::outgoing::{HeadValues, Outgoing};
use super::retval::Retval;
use super::schema::{Head, MessageInfo};
use super::work::{self, Around, Caller, Later, Rows, Task, Work};

/// Rows in one piece of [`Module::stream_rows`].
pub const STREAM_PIECE: usize = 1024;

/// First number of a message that is not of the module `memclnt`.
const FIRST_FREE: u16 = 29;

/// A piece of a stream: its rows from the cursor on, until it is full.
pub struct Piece<D> {
    from: u32,
    rows: Vec<D>,
    /// The first that is for the next piece.
    next: Option<u32>,
}

impl<D> Piece<D> {
    /// Offers the row of a number, in ascending order. False when the piece is full: no further
    /// ones need to be offered.
    pub fn offer(&mut self, number: u32, row: impl FnOnce() -> D) -> bool {
        if number < self.from {
            return true;
        }
        if self.rows.len() == STREAM_PIECE {
            self.next = Some(number);
            return false;
        }
        self.rows.push(row());
        true
    }
}

/// What answers a request: at once (`None`) or in slices.
type Answered<C> = Result<Option<Box<dyn Work<C>>>, Short>;
type Answer<C> =
    dyn Fn(&mut C, Around<'_, C>, Caller, &mut Reader<'_>, &mut Outgoing) -> Answered<C>;

/// All messages. `C` is the context that owns the router's state.
pub struct Api<C> {
    modules: Vec<ModuleEntry>,
    entries: Vec<Entry<C>>,
    /// Entries by number of the message.
    by_id: Vec<Option<usize>>,
    by_name: HashMap<&'static str, usize>,
    duplicate: Option<&'static str>,
}

/// A message and what is done with it.
pub(super) struct Entry<C> {
    pub info: &'static MessageInfo,
    pub crc: u32,
    pub module: usize,
    pub id: u16,
    pub service: Option<Service>,
    answer: Option<Box<Answer<C>>>,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Name of its reply, or of its rows when nothing comes behind them; none for no answer.
    pub reply: Option<&'static str>,
    /// Whether rows come.
    pub is_stream: bool,
    /// Name of its rows when a reply comes behind them.
    pub rows: Option<&'static str>,
    /// Events it registers for.
    pub events: &'static [&'static MessageInfo],
}

/// Where clients look for the file of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// `core/`.
    Core,
    /// `plugins/`.
    Plugins,
}

/// A file of declarations.
pub(super) struct ModuleEntry {
    pub name: &'static str,
    pub folder: Folder,
    pub version: &'static str,
}

/// Two messages of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateMessage(pub &'static str);

impl fmt::Display for DuplicateMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two messages are called {}", self.0)
    }
}

impl std::error::Error for DuplicateMessage {}

/// What a module's messages are registered with. Several features may contribute to one module.
pub struct Module<'a, C> {
    api: &'a mut Api<C>,
    module: usize,
}

impl<C: 'static> Api<C> {
    /// Only the messages that connections are made of.
    pub fn new() -> Self {
        let mut api = Self {
            modules: Vec::new(),
            entries: Vec::new(),
            by_id: Vec::new(),
            by_name: HashMap::new(),
            duplicate: None,
        };
        super::memclnt::register(&mut api);
        super::cli_inband::register(&mut api);
        super::lane::register(&mut api);
        api
    }

    /// A module of the folder `core/`; `version` is that of its file in the original.
    pub fn core(&mut self, name: &'static str, version: &'static str) -> Module<'_, C> {
        self.module(name, Folder::Core, version)
    }

    /// A module of the folder `plugins/`; `version` is that of its file in the original.
    pub fn plugin(&mut self, name: &'static str, version: &'static str) -> Module<'_, C> {
        self.module(name, Folder::Plugins, version)
    }

    fn module(
        &mut self,
        name: &'static str,
        folder: Folder,
        version: &'static str,
    ) -> Module<'_, C> {
        let known = self.modules.iter().position(|m| m.name == name);
        let module = known.unwrap_or_else(|| {
            self.modules.push(ModuleEntry { name, folder, version });
            self.modules.len() - 1
        });
        Module { api: self, module }
    }

    /// Gives numbers to all messages and makes events known to `clients`. Call it once all are
    /// registered, and again when messages were added since.
    ///
    /// # Errors
    /// Two messages of one name.
    pub fn finish(&mut self, clients: &Clients) -> Result<(), DuplicateMessage> {
        if let Some(name) = self.duplicate {
            return Err(DuplicateMessage(name));
        }
        let mut next = FIRST_FREE;
        for module in 0..self.modules.len() {
            let is_fixed = self.modules[module].name == super::memclnt::NAME;
            let mut fixed = 1;
            let number = if is_fixed { &mut fixed } else { &mut next };
            for entry in self.entries.iter_mut().filter(|e| e.module == module) {
                entry.id = *number;
                *number += 1;
            }
        }
        self.by_id = vec![None; usize::from(next)];
        for (at, entry) in self.entries.iter().enumerate() {
            self.by_id[usize::from(entry.id)] = Some(at);
        }
        clients.set_directory(Directory::new(self.messages().collect(), self.ranges()));
        Ok(())
    }

    /// Number, name and CRC of all messages, by number.
    pub fn messages(&self) -> impl Iterator<Item = (u16, &'static MessageInfo, u32)> + '_ {
        let entries = self.by_id.iter().flatten().map(|at| &self.entries[*at]);
        entries.map(|e| (e.id, e.info, e.crc))
    }

    fn ranges(&self) -> Vec<(String, u16, u16)> {
        let modules = self.modules.iter().enumerate();
        let ranges = modules.filter(|(_, m)| m.name != super::memclnt::NAME);
        let ranges = ranges.filter_map(|(at, module)| {
            let ids = || self.entries_of(at).map(|e| e.id);
            let name = format!("{}_{:08x}", module.name, describe::file_crc(self, at));
            Some((name, ids().min()?, ids().max()?))
        });
        ranges.collect()
    }

    /// The declaration of the message of this number.
    pub fn info(&self, id: u16) -> Option<&'static MessageInfo> {
        self.entry(id).map(|e| e.info)
    }

    /// The number of the message of this name.
    pub fn id(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).map(|at| self.entries[*at].id)
    }

    pub(super) fn entry(&self, id: u16) -> Option<&Entry<C>> {
        let at = *self.by_id.get(usize::from(id))?;
        Some(&self.entries[at?])
    }

    pub(super) fn entries_of(&self, module: usize) -> impl Iterator<Item = &Entry<C>> {
        self.entries.iter().filter(move |e| e.module == module)
    }

    pub(super) fn modules(&self) -> &[ModuleEntry] {
        &self.modules
    }

    /// Answers a request whose fields begin at `fields`.
    pub(super) fn answer(
        &self,
        cx: &mut C,
        around: Around<'_, C>,
        entry: &Entry<C>,
        caller: Caller,
        fields: &[u8],
        out: &mut Outgoing,
    ) -> Answered<C> {
        match &entry.answer {
            Some(answer) => answer(cx, around, caller, &mut Reader::new(fields), out),
            None => Ok(None),
        }
    }

    fn add(&mut self, module: usize, info: &'static MessageInfo) -> &mut Entry<C> {
        if let Some(at) = self.by_name.get(info.name) {
            let at = *at;
            // A declaration that several requests name is the same one.
            let is_same = self.entries[at].answer.is_none() && info.head != Head::Request;
            if !is_same {
                self.duplicate.get_or_insert(info.name);
            }
            return &mut self.entries[at];
        }
        let crc = crc::of_message(info);
        self.by_name.insert(info.name, self.entries.len());
        self.entries.push(Entry { info, crc, module, id: 0, service: None, answer: None });
        self.entries.last_mut().expect("it has just been added")
    }
}

impl<C: 'static> Default for Api<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: 'static> Module<'_, C> {
    /// A request that is carried out at once, in well under 2 ms. On `Err` the reply has this
    /// number and all other fields are zero.
    pub fn call<M: Call>(
        &mut self,
        answer: impl Fn(&mut C, M) -> Result<M::Reply, Retval> + 'static,
    ) -> &mut Self {
        self.call_by(move |cx, _, request| answer(cx, request))
    }

    /// As [`Module::call`] for who needs to know who asks.
    pub fn call_by<M: Call>(
        &mut self,
        answer: impl Fn(&mut C, Caller, M) -> Result<M::Reply, Retval> + 'static,
    ) -> &mut Self {
        self.request::<M, _>(M::REPLY, one_reply(M::REPLY), move |cx, around, caller, from, out| {
            let request = M::decode(from)?;
            let id = around.api.id(M::REPLY.name).unwrap_or_default();
            work::reply::<M>(id, caller, answer(cx, caller, request), out);
            Ok(None)
        })
    }

    /// A request whose one reply takes a while.
    pub fn task<M, T>(
        &mut self,
        start: impl Fn(&mut C, Caller, M) -> Result<T, Retval> + 'static,
    ) -> &mut Self
    where
        M: Call,
        T: Task<C, Reply = M::Reply> + 'static,
    {
        self.request::<M, _>(M::REPLY, one_reply(M::REPLY), move |cx, around, caller, from, out| {
            let request = M::decode(from)?;
            let id = around.api.id(M::REPLY.name).unwrap_or_default();
            match start(cx, caller, request) {
                Ok(task) => {
                    Ok(Some(Box::new(Later::<M, T> { task, id, caller, request: PhantomData })))
                }
                Err(retval) => {
                    work::reply::<M>(id, caller, Err(retval), out);
                    Ok(None)
                }
            }
        })
    }

    /// A request for a table whose rows are made in well under 2 ms.
    pub fn dump<M: Dump>(
        &mut self,
        rows: impl Fn(&mut C, M) -> Vec<M::Details> + 'static,
    ) -> &mut Self {
        self.dump_each(move |cx, request| {
            let mut rows = rows(cx, request).into_iter();
            move |_: &mut C| rows.next()
        })
    }

    /// A request for a table of any size: `start` makes what gives the next row each time it is
    /// called, until there is none. In between the table may change.
    pub fn dump_each<M, N>(&mut self, start: impl Fn(&mut C, M) -> N + 'static) -> &mut Self
    where
        M: Dump,
        N: FnMut(&mut C) -> Option<M::Details> + 'static,
    {
        let info = M::Details::INFO;
        let service = Service { is_stream: true, ..one_reply(info) };
        self.request::<M, _>(info, service, move |cx, around, caller, from, _| {
            let next = start(cx, M::decode(from)?);
            let id = around.api.id(info.name).unwrap_or_default();
            let details = PhantomData::<M::Details>;
            Ok(Some(Box::new(Rows { next, id, caller, details })))
        })
    }

    /// A request for a table in pieces: `piece` gives some rows (as many as 2 ms allow), what
    /// stands in `retval`, and the reply that comes behind the rows, with a cursor when `retval` is
    /// -165.
    pub fn stream<M: Stream>(
        &mut self,
        piece: impl Fn(&mut C, M) -> (Vec<M::Details>, Retval, M::Reply) + 'static,
    ) -> &mut Self {
        let (rows, reply) = (M::Details::INFO, M::Reply::INFO);
        let service = Service { is_stream: true, rows: Some(rows.name), ..one_reply(reply) };
        self.request::<M, _>(rows, service, move |cx, around, caller, from, out| {
            let (details, retval, last) = piece(cx, M::decode(from)?);
            let id = |info: &MessageInfo| around.api.id(info.name).unwrap_or_default();
            let Caller { client, context } = caller;
            let mut head = HeadValues { client_index: client, context, ..HeadValues::default() };
            for row in details {
                out.message(id(rows), rows, head, |bytes| row.encode(bytes));
            }
            head.retval = retval.0;
            out.message(id(reply), reply, head, |bytes| last.encode(bytes));
            Ok(None)
        })
        .message(reply)
    }

    /// A request for a table whose rows have ascending numbers, in pieces: `rows` offers them to a
    /// piece, which takes those from the cursor on; `last` is the reply for the cursor of the next
    /// piece (4294967295 when there is none).
    pub fn stream_rows<M: Stream>(
        &mut self,
        cursor: impl Fn(&M) -> u32 + 'static,
        rows: impl Fn(&mut C, &M, &mut Piece<M::Details>) -> Result<(), Retval> + 'static,
        last: impl Fn(u32) -> M::Reply + 'static,
    ) -> &mut Self {
        self.stream(move |cx, m: M| {
            let mut piece = Piece { from: cursor(&m), rows: Vec::new(), next: None };
            match (rows(cx, &m, &mut piece), piece.next) {
                (Err(retval), _) => (Vec::new(), retval, last(u32::MAX)),
                (Ok(()), Some(next)) => (piece.rows, Retval::EAGAIN, last(next)),
                (Ok(()), None) => (piece.rows, Retval::OK, last(u32::MAX)),
            }
        })
    }

    /// A request that is never answered.
    pub fn silent<M: Request>(&mut self, take: impl Fn(&mut C, Caller, M) + 'static) -> &mut Self {
        let service = Service { reply: None, is_stream: false, rows: None, events: &[] };
        self.answered::<M, _>(service, move |cx, _, caller, from, _| {
            take(cx, caller, M::decode(from)?);
            Ok(None)
        })
    }

    /// A request that the transport itself answers.
    pub(super) fn by_transport<M: Call>(&mut self) -> &mut Self {
        self.api.add(self.module, M::INFO).service = Some(one_reply(M::REPLY));
        self.message(M::REPLY)
    }

    /// A message that no request of this module names, such as an event.
    pub fn message(&mut self, info: &'static MessageInfo) -> &mut Self {
        self.api.add(self.module, info);
        self
    }

    /// A request, then the message it is answered with.
    pub(super) fn request<M, A>(
        &mut self,
        answered_by: &'static MessageInfo,
        service: Service,
        answer: A,
    ) -> &mut Self
    where
        M: Request,
        A: Fn(&mut C, Around<'_, C>, Caller, &mut Reader<'_>, &mut Outgoing) -> Answered<C>,
        A: 'static,
    {
        let service = Service { events: M::EVENTS, ..service };
        self.answered::<M, _>(service, answer).message(answered_by);
        for event in M::EVENTS {
            self.message(event);
        }
        self
    }

    fn answered<M, A>(&mut self, service: Service, answer: A) -> &mut Self
    where
        M: Request,
        A: Fn(&mut C, Around<'_, C>, Caller, &mut Reader<'_>, &mut Outgoing) -> Answered<C>,
        A: 'static,
    {
        let entry = self.api.add(self.module, M::INFO);
        entry.service = Some(service);
        entry.answer = Some(Box::new(answer));
        self
    }
}

pub(super) fn one_reply(reply: &'static MessageInfo) -> Service {
    Service { reply: Some(reply.name), is_stream: false, rows: None, events: &[] }
}
