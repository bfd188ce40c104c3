//! All messages of a router: which module has them, which number they have, who answers them.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use super::clients::Clients;
use super::directory::Directory;
use super::field::{Reader, Short};
use super::message::{Call, Dump, Message, Request, Stream};
use super::outgoing::{HeadValues, Outgoing};
use super::retval::Retval;
use super::schema::MessageInfo;
use super::table::{Answer, Answered, Entry, Folder, ModuleEntry, Service, Table, Unnumbered};
use super::work::{self, Caller, DeferredReply, Registries, Rows, SomeRows, Task};
use crate::feature::Owner;

/// Rows in one piece of [`Module::stream_rows`].
pub const STREAM_PIECE: usize = 1024;

/// A piece of a stream: its rows from the cursor on, until it is full.
pub struct Piece<D> {
    from: u32,
    rows: Vec<D>,
    /// The first one for the next piece.
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

/// All messages. `C` is the context that owns the router's state. Clones are the same: messages
/// come and go while others are answered.
///
/// Numbers are given once: those of a module that went are not given to other messages, as there
/// may be clients with a table that has the old ones. A module that comes back as it was gets its
/// old numbers.
pub struct Api<C> {
    table: Rc<RefCell<Rc<Table<C>>>>,
    once: Once<C>,
}

impl<C> Clone for Api<C> {
    fn clone(&self) -> Self {
        Self { table: Rc::clone(&self.table), once: self.once }
    }
}

/// Functions behind pointers, so that crates that register messages need not compile them.
struct Once<C> {
    module: fn(&mut Table<C>, ModuleEntry) -> usize,
    add: fn(&mut Table<C>, usize, &'static MessageInfo, Answering<C>),
    id: fn(&Table<C>, &str) -> Option<u16>,
    /// [`Rc::make_mut`].
    own: fn(&mut Rc<Table<C>>) -> &mut Table<C>,
}

impl<C> Copy for Once<C> {}

impl<C> Clone for Once<C> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The service of a request, and what answers it unless the transport does.
type Answering<C> = Option<(Service, Option<Rc<Answer<C>>>)>;

/// A module that messages are registered in. Several features may contribute to one.
pub struct Module<'a, C> {
    api: &'a mut Api<C>,
    module: usize,
}

impl<C: 'static> Api<C> {
    /// Only the messages that connections are made of.
    pub fn new() -> Self {
        let table = Rc::new(RefCell::new(Rc::new(Table::new())));
        let once =
            Once { module: Table::module, add: Table::answer, id: Table::id, own: Rc::make_mut };
        let mut api = Self { table, once };
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
        let new = self.once.module;
        let module = self.change(|table| new(table, ModuleEntry { name, folder, version }));
        Module { api: self, module }
    }

    /// Gives numbers to all messages that have none and makes events known to `clients`. Call it
    /// once all are registered, and again when messages came or went since.
    ///
    /// # Errors
    /// Two messages of one name, or too many.
    pub fn finish(&mut self, clients: &Clients) -> Result<(), Unnumbered> {
        self.change(Table::number)?;
        let table = self.table();
        clients.set_directory(Directory::new(table.messages().collect(), table.ranges()));
        Ok(())
    }

    /// Takes away all messages of an owner: requests for them are unknown from now on. Call
    /// [`Api::finish`] then.
    pub fn remove_all_of(&mut self, owner: Owner) {
        self.change(|table| table.remove(owner));
    }

    /// All messages as they are now.
    pub(super) fn table(&self) -> Rc<Table<C>> {
        Rc::clone(&self.table.borrow())
    }

    fn change<R>(&mut self, work: impl FnOnce(&mut Table<C>) -> R) -> R {
        work((self.once.own)(&mut self.table.borrow_mut()))
    }

    /// Number, name and CRC of all messages, by number.
    pub fn messages(&self) -> impl Iterator<Item = (u16, &'static MessageInfo, u32)> {
        self.table().messages().collect::<Vec<_>>().into_iter()
    }

    /// The declaration of the message of this number.
    pub fn info(&self, id: u16) -> Option<&'static MessageInfo> {
        self.entry(id).map(|e| e.info)
    }

    /// The number of the message of this name.
    pub fn id(&self, name: &str) -> Option<u16> {
        (self.once.id)(&self.table.borrow(), name)
    }

    pub(super) fn entry(&self, id: u16) -> Option<Rc<Entry<C>>> {
        let table = self.table.borrow();
        let at = *table.by_id.get(usize::from(id))?;
        Some(Rc::clone(&table.entries[at?]))
    }

    /// Answers a request whose fields begin at `fields`.
    pub(super) fn answer(
        &self,
        cx: &mut C,
        around: Registries<'_, C>,
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

    fn add(&mut self, module: usize, info: &'static MessageInfo, answered: Answering<C>) {
        let add = self.once.add;
        self.change(|table| add(table, module, info, answered));
    }
}

impl<C: 'static> Table<C> {
    /// Finds a module or adds it.
    fn module(&mut self, new: ModuleEntry) -> usize {
        let known = self.modules.iter().position(|m| m.name == new.name);
        known.unwrap_or_else(|| {
            self.modules.push(new);
            self.modules.len() - 1
        })
    }

    /// Adds a message and what answers it.
    fn answer(&mut self, module: usize, info: &'static MessageInfo, answered: Answering<C>) {
        if let Some(entry) = self.add(module, info)
            && let Some((service, answer)) = answered
        {
            (entry.service, entry.answer) = (Some(service), answer);
        }
    }

    fn id(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).map(|at| self.entries[*at].id)
    }
}

impl<C: 'static> Default for Api<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: 'static> Module<'_, C> {
    /// A request that runs at once, in well under 2 ms. On `Err` the reply has this number and all
    /// other fields are zero.
    pub fn call<M: Call>(
        &mut self,
        answer: impl Fn(&mut C, M) -> Result<M::Reply, Retval> + 'static,
    ) -> &mut Self {
        self.call_by(move |cx, _, request| answer(cx, request))
    }

    /// As [`Module::call`], with the calling client.
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
                Ok(task) => Ok(Some(Box::new(DeferredReply::<M, T> {
                    task,
                    id,
                    caller,
                    request: PhantomData,
                }))),
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

    /// A request for a table of any size: `start` makes what adds some rows each time it is called,
    /// perhaps none, and says whether there may be more.
    pub fn dump_some<M, N>(&mut self, start: impl Fn(&mut C, M) -> N + 'static) -> &mut Self
    where
        M: Dump,
        N: FnMut(&mut C, &mut Vec<M::Details>) -> bool + 'static,
    {
        let info = M::Details::INFO;
        let service = Service { is_stream: true, ..one_reply(info) };
        self.request::<M, _>(info, service, move |cx, around, caller, from, _| {
            let more = start(cx, M::decode(from)?);
            let id = around.api.id(info.name).unwrap_or_default();
            let rows = Vec::new().into_iter();
            Ok(Some(Box::new(SomeRows::<M::Details, N> { more: Some(more), rows, id, caller })))
        })
    }

    /// A request for a table in pieces: `piece` gives some rows (as many as 2 ms allow), what
    /// stands in `retval`, and the reply that comes after the rows, with a cursor when `retval` is
    /// -165.
    pub fn stream<M: Stream>(
        &mut self,
        piece: impl Fn(&mut C, M) -> (Vec<M::Details>, Retval, M::Reply) + 'static,
    ) -> &mut Self {
        let (rows, reply) = (M::Details::INFO, M::Reply::INFO);
        let service = Service { is_stream: true, rows: Some(rows.name), ..one_reply(reply) };
        self.pieces(service, piece)
    }

    /// As [`stream`](Self::stream), declared as a table like others: clients that wait for no reply
    /// after the rows get one all the same.
    pub fn dump_with_end<M: Stream>(
        &mut self,
        piece: impl Fn(&mut C, M) -> (Vec<M::Details>, Retval, M::Reply) + 'static,
    ) -> &mut Self {
        let service = Service { is_stream: true, ..one_reply(M::Details::INFO) };
        self.pieces(service, piece)
    }

    fn pieces<M: Stream>(
        &mut self,
        service: Service,
        piece: impl Fn(&mut C, M) -> (Vec<M::Details>, Retval, M::Reply) + 'static,
    ) -> &mut Self {
        let (rows, reply) = (M::Details::INFO, M::Reply::INFO);
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

    /// A request that is known only at run time: `answer` gets the bytes of its fields, at least
    /// those it is declared with, and gives the error number and the bytes of the reply's own
    /// fields. Where they are too few the reply has zeros.
    pub fn described_call(
        &mut self,
        (info, reply): (&'static MessageInfo, &'static MessageInfo),
        answer: impl Fn(&mut C, &[u8]) -> (Retval, Vec<u8>) + 'static,
    ) -> &mut Self {
        self.described(info, reply, one_reply(reply), move |cx, id, caller, fields, out| {
            let (retval, mut bytes) = answer(cx, fields);
            bytes.resize(bytes.len().max(reply.size), 0);
            let Caller { client, context } = caller;
            let (retval, pid) = (retval.0, 0);
            let head = HeadValues { client_index: client, context, retval, pid };
            out.message(id, reply, head, |to| to.extend(bytes));
        })
    }

    /// A request for a table that is known only at run time; `rows` gives the bytes of each row's
    /// own fields.
    pub fn described_dump(
        &mut self,
        (info, details): (&'static MessageInfo, &'static MessageInfo),
        rows: impl Fn(&mut C, &[u8]) -> Vec<Vec<u8>> + 'static,
    ) -> &mut Self {
        let service = Service { is_stream: true, ..one_reply(details) };
        self.described(info, details, service, move |cx, id, caller, fields, out| {
            let head = HeadValues { context: caller.context, ..HeadValues::default() };
            for mut row in rows(cx, fields) {
                row.resize(row.len().max(details.size), 0);
                out.message(id, details, head, |to| to.extend(row));
            }
        })
    }

    fn described(
        &mut self,
        info: &'static MessageInfo,
        answered_by: &'static MessageInfo,
        service: Service,
        answer: impl Fn(&mut C, u16, Caller, &[u8], &mut Outgoing) + 'static,
    ) -> &mut Self {
        let answer = move |cx: &mut C,
                           around: Registries<'_, C>,
                           caller: Caller,
                           from: &mut Reader<'_>,
                           out: &mut Outgoing|
              -> Answered<C> {
            if from.len() < info.size {
                return Err(Short);
            }
            let id = around.api.id(answered_by.name).unwrap_or_default();
            answer(cx, id, caller, from.take(from.len())?, out);
            Ok(None)
        };
        self.api.add(self.module, info, Some((service, Some(Rc::new(answer)))));
        self.message(answered_by)
    }

    /// A request that the transport itself answers.
    pub(super) fn by_transport<M: Call>(&mut self) -> &mut Self {
        self.api.add(self.module, M::INFO, Some((one_reply(M::REPLY), None)));
        self.message(M::REPLY)
    }

    /// A message that no request of this module names, such as an event.
    pub fn message(&mut self, info: &'static MessageInfo) -> &mut Self {
        self.api.add(self.module, info, None);
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
        A: Fn(&mut C, Registries<'_, C>, Caller, &mut Reader<'_>, &mut Outgoing) -> Answered<C>,
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
        A: Fn(&mut C, Registries<'_, C>, Caller, &mut Reader<'_>, &mut Outgoing) -> Answered<C>,
        A: 'static,
    {
        self.api.add(self.module, M::INFO, Some((service, Some(Rc::new(answer)))));
        self
    }
}

pub(super) fn one_reply(reply: &'static MessageInfo) -> Service {
    Service { reply: Some(reply.name), is_stream: false, rows: None, events: &[] }
}
