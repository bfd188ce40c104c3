//! HTTP/1.1 servers (RFC 9112) on the host stack.
//!
//! A [`Site`] answers requests; a [`Server`] is the application on one thread that parses requests
//! and writes responses.
#![forbid(unsafe_code)]

mod handlers;
mod request;
mod response;
mod server;

pub use handlers::{Handlers, Respond, Shelf, handlers, set_handler};
pub use request::{MOST_HEAD, Method, Outcome, Refused, Request, read};
pub use response::{Answer, Response, Ticket};
pub use server::{Limits, Server, Site};
