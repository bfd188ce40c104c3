//! HTTP/1.1 servers (RFC 9112) on the host stack.
//!
//! A [`Site`] answers requests; [`serve`] attaches an application that parses requests and writes
//! responses.
#![forbid(unsafe_code)]

mod arrival;
mod handlers;
mod request;
mod response;
mod server;
mod uri;

#[cfg(test)]
mod tests;

pub use handlers::{Handlers, Respond, Shelf, handlers, set_handler};
pub use request::{MOST_HEAD, Method, Outcome, Refused, Request, read};
pub use response::{Answer, Response, Ticket};
pub use server::{Limits, Site, serve};
pub use uri::{BadUri, decoded, endpoint};
