//! The binary API: messages as structs, their names, CRCs and descriptions computed from them.
//!
//! # How to add a message
//!
//! In the folder of the feature it belongs to, one struct for each message, one field for each of
//! its own fields, in order. The name is the struct's in snake case (`#[name("…")]` says another).
//!
//! ```
//! use control::api::{Api, Message, Record, Retval, Text};
//!
//! /// Create a thing.
//! #[derive(Message)]
//! #[reply(ThingAddReply)]
//! struct ThingAdd {
//!     /// what it is called
//!     name: Text<64>,
//!     /// how many; clients that say nothing mean 4294967295
//!     #[preset(4294967295)]
//!     count: u32,
//!     /// where it leads
//!     #[counted(n_paths: u8)]
//!     paths: Vec<PathTo>,
//! }
//!
//! /// A path to somewhere.
//! #[derive(Record)]
//! struct PathTo {
//!     weight: u8,
//!     next_hop: std::net::Ipv4Addr,
//! }
//!
//! /// The thing is there.
//! #[derive(Message)]
//! struct ThingAddReply {
//!     index: u32,
//! }
//!
//! /// Delete a thing.
//! #[derive(Message)]
//! struct ThingDel {
//!     index: u32,
//! }
//!
//! /// Show all things.
//! #[derive(Message)]
//! #[details(ThingDetails)]
//! struct ThingDump {}
//!
//! /// A thing.
//! #[derive(Message)]
//! struct ThingDetails {
//!     name: Text<64>,
//! }
//!
//! type Router = Vec<String>;
//! let mut api = Api::<Router>::new(); // a feature has `parts.api`
//! api.plugin("things", "1.0.0")
//!     .call(|router: &mut Router, m: ThingAdd| {
//!         router.push(m.name.to_string());
//!         Ok(ThingAddReply { index: router.len() as u32 - 1 })
//!     })
//!     .call(|router, m: ThingDel| {
//!         let index = m.index as usize;
//!         if index >= router.len() {
//!             return Err(Retval::NO_SUCH_ENTRY);
//!         }
//!         router.remove(index);
//!         Ok(())
//!     })
//!     .dump(|router, _: ThingDump| {
//!         router.iter().map(|name| ThingDetails { name: name.clone().into() }).collect()
//!     });
//! ```
//!
//! **Heads** are not fields of the struct; the ending of its name says which it is:
//!
//! | name | begins with | attribute that says so |
//! |---|---|---|
//! | `…Reply` | `context`, `retval` | `#[head(reply)]` |
//! | `…Details` | `context` | `#[head(details)]` |
//! | `…Event` | `client_index`, `pid` | `#[head(event)]` |
//! | | `client_index` | `#[head(index)]` |
//! | | nothing | `#[head(bare)]` |
//! | all others | `client_index`, `context` | `#[head(request)]` |
//!
//! A reply without `retval` has the head of details; so has one with `retval` elsewhere, which then
//! is a field (`retval: i32`, found by its name). A reply that begins with `client_index` has the
//! head of a request.
//!
//! **Requests** say what they are answered with:
//!
//! | attribute | answer | registered with |
//! |---|---|---|
//! | none | `X_reply` that has only `retval` | [`Module::call`], `Ok(())` |
//! | `#[replies(F)]` | one `X_reply` with the [`Fields`] `F` | as above |
//! | `#[reply(R)]` | one `R` | [`Module::call`], [`Module::task`] when it takes long |
//! | `#[details(D)]` | some `D`, no reply | [`Module::dump`], [`Module::dump_each`] if big |
//! | `#[stream(D, R)]` | some `D`, then `R` | [`Module::stream_rows`], [`Module::stream`] |
//! | `#[silent]` | nothing | [`Module::silent`] |
//!
//! `#[events(E)]` besides says that it registers for events `E`: [`Module::call_by`] and
//! [`Clients::want`].
//!
//! **Fields**: numbers, `bool`, `f64`; [`Text<N>`](Text) for `string x[N]` and `String` for
//! `string x[]`; `[T; N]` for `T x[N]`; `Vec<T>` with `#[counted(n: u8)]` for `T x[n]`, where the
//! field `u8 n` is right before it or, with `#[counted(n: u8, before = y)]`, right before field
//! `y`; structs that derive [`Record`]; [`numbers!`](crate::numbers) for enumerations and flags;
//! types with an [`Alias`]; [`Overlay`] for unions; [`Fields`] that several messages have, with
//! `#[flatten]`. Common types are in [`types`]; an interface's
//! index stands in messages as `net::InterfaceIndex`. `#[name("type")]` gives a field another
//! name, `#[preset(…)]` is `default=…`, `#[discriminator("af")]` and `#[case("X")]` are as they are
//! called. Doc comments are the text of the reference. `#[option("deprecated")]` and
//! `#[option("status", "in_progress")]` stand on messages. A [`Record`] of another file than the
//! module's says so: `#[file("vnet/fib/fib_types.api")]`.
//!
//! **Numbers from outside are values**: an unknown number of an enumeration, an address of an
//! unknown version or a prefix too long reach the function that answers, which converts them
//! (`m.prefix.native()?`) and so answers the error that clients know ([`Retval`]). A feature's own
//! error converts into [`Retval`] (`impl From<MyError> for Retval`), then `?` does it.
//!
//! **Events**: `router.clients.send(&ThingEvent { … })` sends to all who registered;
//! [`Clients::want`] registers. Who leaves is taken off by himself. A feature with registrations of
//! its own (by address, say) keeps [`Caller::client`], sends with [`Clients::send_to`] and forgets
//! those for which that is false.
//!
//! **Tests** use [`Local`]: `parts.api.finish(&parts.router.clients)`, then `let local =
//! Local::new(&parts.api, &parts.cli, &parts.router.clients)` and `local.call(&mut parts.router,
//! &ThingDel { index: 7 })`. A message that differs from the original's fails a test of
//! `tests/outside` when `FERROVIA_REFERENCE` is set. (Fields that agree under a CRC that does not:
//! an enumeration has names that were added `later`, see [`numbers!`](crate::numbers).) All
//! messages are in `docs/reference/api`, reviewed: `FERROVIA_BLESS=1 cargo test -p tests --test
//! outside messages` updates it.

mod cli_inband;
mod clients;
mod commands;
mod crc;
mod describe;
mod directory;
mod dispatch;
mod field;
mod json;
mod lane;
mod local;
mod memclnt;
mod message;
mod numbers;
mod outgoing;
mod overlay;
mod page;
mod registry;
mod retval;
pub mod schema;
mod server;
mod table;
mod trace;
pub mod types;
mod work;

pub use control_derive::{Fields, Message, Record, Union};

pub use cli_inband::{CliInband, CliInbandReply};
pub use clients::{Clients, Status};
pub use commands::register as register_commands;
pub use describe::{ApiFile, files};
pub use directory::Directory;
pub use dispatch::{Ignored, Job, dispatch};
pub use field::{Alias, Counter, Field, Reader, Short, Text, decode_all, encode_all};
pub use lane::{FerroviaLaneCreate, FerroviaLaneCreateReply};
pub use local::Local;
pub use message::{
    Call, Dump, Fields, Message, Reply, Request, Stream, least_size, plain_reply, reply_of,
};
pub use outgoing::{HEADER, HeadValues, Outgoing, request, split};
pub use overlay::{Overlay, Union};
pub use registry::{Api, Module, Piece, STREAM_PIECE};
pub use retval::Retval;
pub use server::Server;
pub use table::{Folder, Unnumbered};
pub use work::{Caller, Progress, Registries, Slice, Task, Work};

#[cfg(test)]
mod tests;
