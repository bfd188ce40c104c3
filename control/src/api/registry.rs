//! All messages of a router: which module has them, which number they have, who answers them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

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
use crate::feature::Owner;

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

/// All messages. `C` is the context that owns the router's state. Clones are the same: messages
/// come and go while others are answered.
///
/// Numbers are given once: those of a module that went are not given to other messages, as there
/// may be clients with a table that has the old ones. A module that comes back as it was gets its
/// old numbers.
pub struct Api<C> {
    table: Rc<RefCell<Rc<Table<C>>>>,
}

impl<C> Clone for Api<C> {
    fn clone(&self) -> Self {
        Self { table: Rc::clone(&self.table) }
    }
}

/// All messages as they are now: who answers a request holds on to it.
pub(super) struct Table<C> {
    modules: Vec<ModuleEntry>,
    entries: Vec<Rc<Entry<C>>>,
    /// Entries by number of the message.
    by_id: Vec<Option<usize>>,
    by_name: HashMap<&'static str, usize>,
    /// First numbers of modules that went, by what was in them.
    gone: HashMap<Vec<(&'static str, u32)>, u16>,
    /// First number that no message has or had.
    next: u16,
    duplicate: Option<&'static str>,
    /// Whose the messages are that are being added.
    owner: Owner,
}

impl<C> Clone for Table<C> {
    fn clone(&self) -> Self {
        Self {
            modules: self.modules.clone(),
            entries: self.entries.clone(),
            by_id: self.by_id.clone(),
            by_name: self.by_name.clone(),
            gone: self.gone.clone(),
            ..*self
        }
    }
}

/// A message and what is done with it.
pub(super) struct Entry<C> {
    pub info: &'static MessageInfo,
    pub crc: u32,
    pub module: usize,
    pub id: u16,
    pub service: Option<Service>,
    answer: Option<Rc<Answer<C>>>,
    /// Whose it is.
    owner: Owner,
}

impl<C> Clone for Entry<C> {
    fn clone(&self) -> Self {
        Self { answer: self.answer.clone(), ..*self }
    }
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
#[derive(Clone)]
pub(super) struct ModuleEntry {
    pub name: &'static str,
    pub folder: Folder,
    pub version: &'static str,
}

/// Two messages of one name, or more than there are numbers for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unnumbered {
    /// Two messages have this name.
    Duplicate(&'static str),
    /// There is no number left for this one.
    TooMany(&'static str),
}

impl fmt::Display for Unnumbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(name) => write!(f, "two messages are called {name}"),
            Self::TooMany(name) => write!(f, "there is no number left for the message {name}"),
        }
    }
}

impl std::error::Error for Unnumbered {}

/// What a module's messages are registered with. Several features may contribute to one module.
pub struct Module<'a, C> {
    api: &'a mut Api<C>,
    module: usize,
}

impl<C: 'static> Api<C> {
    /// Only the messages that connections are made of.
    pub fn new() -> Self {
        let table = Table {
            modules: Vec::new(),
            entries: Vec::new(),
            by_id: Vec::new(),
            by_name: HashMap::new(),
            gone: HashMap::new(),
            next: FIRST_FREE,
            duplicate: None,
            owner: Owner::CORE,
        };
        let mut api = Self { table: Rc::new(RefCell::new(Rc::new(table))) };
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
        let module = self.change(|table| {
            let known = table.modules.iter().position(|m| m.name == name);
            known.unwrap_or_else(|| {
                table.modules.push(ModuleEntry { name, folder, version });
                table.modules.len() - 1
            })
        });
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

    /// Says whose the messages are that are added from now on.
    pub fn set_owner(&mut self, owner: Owner) {
        self.change(|table| table.owner = owner);
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
        work(Rc::make_mut(&mut self.table.borrow_mut()))
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
        let table = self.table.borrow();
        table.by_name.get(name).map(|at| table.entries[*at].id)
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

    fn add(
        &mut self,
        module: usize,
        info: &'static MessageInfo,
        answered: Option<(Service, Option<Rc<Answer<C>>>)>,
    ) {
        self.change(|table| {
            if let Some(entry) = table.add(module, info)
                && let Some((service, answer)) = answered
            {
                (entry.service, entry.answer) = (Some(service), answer);
            }
        });
    }
}

impl<C: 'static> Table<C> {
    /// Number, name and CRC of all messages, by number.
    fn messages(&self) -> impl Iterator<Item = (u16, &'static MessageInfo, u32)> + '_ {
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

    pub(super) fn entries_of(&self, module: usize) -> impl Iterator<Item = &Entry<C>> {
        self.entries.iter().map(Rc::as_ref).filter(move |e| e.module == module)
    }

    pub(super) fn modules(&self) -> &[ModuleEntry] {
        &self.modules
    }

    /// Numbers what has none yet, each module's one after the other.
    fn number(&mut self) -> Result<(), Unnumbered> {
        if let Some(name) = self.duplicate {
            return Err(Unnumbered::Duplicate(name));
        }
        let mut next = self.next;
        for module in 0..self.modules.len() {
            let is_fixed = self.modules[module].name == super::memclnt::NAME;
            let is_new = |e: &&mut Rc<Entry<C>>| e.module == module && e.id == 0;
            let new: Vec<_> = self.entries.iter_mut().filter(is_new).collect();
            let Some(first) = new.first().map(|e| e.info.name) else { continue };
            let names: Vec<_> = new.iter().map(|e| (e.info.name, e.crc)).collect();
            let known = if is_fixed { Some(1) } else { self.gone.remove(&names) };
            let start = known.unwrap_or(next);
            let end = u16::try_from(usize::from(start) + new.len());
            let end = end.map_err(|_| Unnumbered::TooMany(first))?;
            next = if known.is_some() { next } else { end };
            for (entry, id) in new.into_iter().zip(start..) {
                Rc::make_mut(entry).id = id;
            }
        }
        self.next = next;
        self.index();
        Ok(())
    }

    /// Says anew where the messages are.
    fn index(&mut self) {
        self.by_id = vec![None; usize::from(self.next)];
        self.by_name.clear();
        for (at, entry) in self.entries.iter().enumerate() {
            self.by_name.insert(entry.info.name, at);
            if entry.id > 0 {
                self.by_id[usize::from(entry.id)] = Some(at);
            }
        }
    }

    fn remove(&mut self, owner: Owner) {
        for module in 0..self.modules.len() {
            let is_his = |e: &&Rc<Entry<C>>| e.module == module && e.owner == owner && e.id > 0;
            let his: Vec<_> = self.entries.iter().filter(is_his).collect();
            if let Some(first) = his.first() {
                let names = his.iter().map(|e| (e.info.name, e.crc)).collect();
                self.gone.insert(names, first.id);
            }
        }
        self.entries.retain(|e| e.owner != owner);
        self.duplicate = None;
        self.index();
    }

    /// The entry of a message, a new one or one that is the same.
    fn add(&mut self, module: usize, info: &'static MessageInfo) -> Option<&mut Entry<C>> {
        if let Some(at) = self.by_name.get(info.name) {
            let at = *at;
            // A declaration that several requests name is the same one.
            let is_same = self.entries[at].answer.is_none() && info.head != Head::Request;
            if !is_same {
                self.duplicate.get_or_insert(info.name);
                return None;
            }
            return Some(Rc::make_mut(&mut self.entries[at]));
        }
        let (crc, owner) = (crc::of_message(info), self.owner);
        self.by_name.insert(info.name, self.entries.len());
        let new = Entry { info, crc, module, id: 0, service: None, answer: None, owner };
        self.entries.push(Rc::new(new));
        self.entries.last_mut().map(Rc::make_mut)
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
        self.api.add(self.module, M::INFO, Some((service, Some(Rc::new(answer)))));
        self
    }
}

pub(super) fn one_reply(reply: &'static MessageInfo) -> Service {
    Service { reply: Some(reply.name), is_stream: false, rows: None, events: &[] }
}
