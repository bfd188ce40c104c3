//! Responses, immediate or deferred.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Media type of the body; empty if there is no body.
    pub content_type: &'static str,
    /// Additional header fields: names and values.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Arc<[u8]>,
    /// Length of the omitted body in a response to HEAD.
    pub left_out: u64,
}

impl Response {
    /// Creates a response with a body of the given media type.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Self {
        Self { status, content_type, headers: Vec::new(), body: body.into(), left_out: 0 }
    }
    /// Creates an error response with a line of text.
    pub fn plain(status: u16, why: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{why}\n").into_bytes())
    }
    /// Creates a response with the reason phrase of its status as text.
    pub fn status(status: u16) -> Self {
        Self::plain(status, reason(status))
    }
    /// The status line and the headers.
    pub(crate) fn head(&self, is_kept: bool) -> String {
        let Self { status, content_type, headers, body, left_out } = self;
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(*status));
        if !content_type.is_empty() {
            head += &format!("Content-Type: {content_type}\r\n");
        }
        for (name, value) in headers {
            // A line break in a value would start another header field.
            let value = value.replace(['\r', '\n'], " ");
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "Content-Length: {}\r\n", body.len() as u64 + left_out);
        head += if is_kept { "\r\n" } else { "Connection: close\r\n\r\n" };
        head
    }
}

/// Reason phrase of a status (RFC 9110 15).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

/// The answer of a site.
pub enum Answer {
    /// An immediate response.
    Now(Response),
    /// A response that another thread puts into the ticket.
    Later(Ticket),
}

/// A placeholder for a deferred response; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Ticket(Arc<Mutex<Option<Response>>>);

impl Ticket {
    /// Sets the response, from any thread.
    pub fn fill(&self, response: Response) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(response);
    }
    /// Whether the client is still waiting.
    pub fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
    /// Takes the response, if it is available.
    pub fn take(&self) -> Option<Response> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
